import { LlmError, mergeRuntimeParams, streamMessage } from '@bowline/llm'
import type { MessageStream, Models, RuntimeParams, UserMessage } from '@bowline/llm'
import type { FieldChecks } from '@bowline/llm/arguments'
import { defineBridgeAgent } from '../agent.ts'
import type { AgentInfo, AgentProvider, BridgeAgent, BridgeEvent, PromptContext, SessionContext } from '../agent.ts'
import { configChecks as check } from '../arguments.ts'
import { infoChecks, providerChecks } from '../check-agent.ts'
import { BridgeError } from '../errors.ts'
import { givenFields } from '../given-fields.ts'
import { completionResult } from './completion-result.ts'
import { conversationHistory } from './conversation-history.ts'
import type { ConversationHistory, HistoryLimits } from './conversation-history.ts'
import { checkedParams, providerTable } from './provider-choice.ts'
import type { ProviderChoice } from './provider-choice.ts'

/** Models and providers from which a session or prompt chooses. */
export interface MultiProviderAgentOptions extends AgentInfo {
  /** Registry with the models of every provider; see `createModels` of `@bowline/llm`. */
  readonly models: Models
  /** Providers to choose from, each with its id, models and defaults. */
  readonly providers: readonly ProviderChoice[]
  /** Provider of sessions without `metadata.provider`. */
  readonly defaultProviderId: string
  /** The system prompt. */
  readonly instructions?: string
  /** Default parameters; the `defaults` of a provider override them. */
  readonly defaults?: RuntimeParams
  /** Bounds of the conversation sent to the model. Default: see `HistoryLimits`. */
  readonly history?: HistoryLimits
}

const choiceChecks: FieldChecks<ProviderChoice> = {
  ...providerChecks,
  defaults: check.checkObject,
  allowOtherModels: check.checkBoolean,
}

const optionChecks: FieldChecks<MultiProviderAgentOptions> = {
  ...infoChecks,
  models: check.requiredMethods('resolve', 'providers'),
  providers: check.requiredList(check.record(choiceChecks)),
  defaultProviderId: check.checkName,
  instructions: check.checkText,
  defaults: check.checkObject,
  history: check.optionalRecord<HistoryLimits>({ maxMessages: check.whole(0), maxBytes: check.whole(0) }),
}

interface Conversation {
  readonly provider: ProviderChoice
  readonly params: RuntimeParams
  readonly history: ConversationHistory
}

/**
 * Creates an agent that makes one model call per prompt. `metadata.provider` and `metadata.runtimeParams` apply to a session,
 * the `runtimeParams` of a prompt to that prompt. Conversations are kept in memory and end with the process. Throws `CONFIG`.
 */
export function multiProviderAgent(options: MultiProviderAgentOptions): BridgeAgent {
  check.record(optionChecks)('multiProviderAgent.options', options)
  const { id, models, providers, defaults, instructions = '' } = options
  const table = providerTable(options)
  const limits = historyLimits(options)
  const conversations = new Map<string, Conversation>()

  function open({ sessionId, metadata }: SessionContext): void {
    const provider = table.find(metadata)
    const given = checkedParams(metadata['runtimeParams'], 'metadata.runtimeParams', 'PROTOCOL')
    const params = mergeRuntimeParams(defaults, provider.defaults, given)
    table.modelOf(provider, params)
    conversations.set(sessionId, { provider, params, history: conversationHistory(limits) })
  }

  function conversationOf({ sessionId }: SessionContext): Conversation {
    const conversation = conversations.get(sessionId)
    if (conversation) return conversation
    throw new BridgeError('NOT_FOUND', 'Session not found', { details: { agentId: id, sessionId, sessionValid: false } })
  }

  async function* answer({ session, prompt, runtimeParams, abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
    const { provider, params, history } = conversationOf(session)
    const { systemPrompt = instructions, ...merged } = mergeRuntimeParams(params, checkedParams(runtimeParams, 'runtimeParams', 'PROTOCOL'))
    const question: UserMessage = { role: 'user', content: prompt }
    const { model: _resolved, ...settings } = merged
    const call = callModel(() =>
      streamMessage({
        models,
        model: { provider: provider.id, model: table.modelOf(provider, merged) },
        abortSignal,
        messages: [...history.messages(), question],
        instructions: systemPrompt,
        // Also if `systemPrompt` is empty: otherwise the defaults of the model registry would apply.
        runtimeParams: { ...settings, systemPrompt },
      }),
    )
    yield* eventsOf(call)
    const message = await call.result()
    const result = completionResult(message, id)
    if (result.stopReason !== 'cancelled') history.add(question, message)
    yield { type: 'result', result }
  }

  return defineBridgeAgent({
    specificationVersion: 'v1',
    info: infoOf(options),
    providers: providers.map(withoutSettings),
    onSessionCreate: open,
    onPrompt: answer,
    onSessionClose: ({ sessionId }) => void conversations.delete(sessionId),
  })
}

/** A model call throws at once if it can never work. Its message is safe for callers, so it is passed on. */
function callModel(call: () => MessageStream): MessageStream {
  try {
    return call()
  } catch (error) {
    if (!LlmError.isInstance(error)) throw error
    throw new BridgeError('CONFIG', error.message)
  }
}

async function* eventsOf(stream: MessageStream): AsyncGenerator<BridgeEvent> {
  for await (const event of stream) {
    if (event.type === 'text-delta') yield { type: 'text-delta', delta: event.delta }
    // Reports progress, so that a model that reasons for long does not hit the inactivity timeout.
    else if (event.type === 'reasoning-delta') yield { type: 'progress', message: 'reasoning' }
  }
}

function infoOf({ id, name, description, version }: MultiProviderAgentOptions): AgentInfo {
  return { id, ...(name && { name }), ...(description && { description }), ...(version && { version }) }
}

/** Returns the fields of a provider that callers may see. */
function withoutSettings({ defaults: _defaults, allowOtherModels: _allow, ...provider }: ProviderChoice): AgentProvider {
  return provider
}

function historyLimits({ history = {} }: MultiProviderAgentOptions): Required<HistoryLimits> {
  return { maxMessages: 200, maxBytes: 1024 * 1024, ...givenFields(history) }
}
