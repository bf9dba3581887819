import { holdingClock, systemClock } from '@bowline/llm'
import type { Clock, Cost, Message, SentRequest, Usage } from '@bowline/llm'
import { describeValue, needed } from '@bowline/llm/arguments'
import { messageOf } from '../base/agent-error.ts'
import {
  checkFunction,
  checkKeys,
  checkMethods,
  checkName,
  checkRequired,
  checkSignal,
  checkText,
  checkWhole,
  refuseConfig,
} from '../base/checks.ts'
import type { Agent } from '../contract/agent.ts'
import type { ExtensionContext } from '../contract/extension.ts'
import type { ModelName } from '../events/turn-events.ts'
import { modelTarget } from '../kernel/model-target.ts'
import { StopSwitch } from '../kernel/stop-switch.ts'
import { summaryModelFor } from '../plugins/compaction/compaction.ts'
import { defaultPolicy } from '../plugins/compaction/policy.ts'
import { readSummary, summaryRequest, summarySizeOf } from '../plugins/compaction/summary.ts'
import { HandlerCalls } from '../plugins/extensions/call-handlers.ts'
import { definitionOf } from '../run/definition.ts'
import type { AgentDefinition } from '../run/definition.ts'
import { contextWithoutTurn, refusedInput } from './context-without-turn.ts'

/** The messages to summarise, and how. Only `messages` is required. */
export interface SummarizeOptions {
  /** The messages to summarise, oldest first. */
  readonly messages: readonly Message[]
  /** Additional instructions for the summary. */
  readonly instructions?: string
  /** Aborting it ends the model call. */
  readonly abortSignal?: AbortSignal
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock
  /** Calls the `onModelRequest` hooks of the agent's extensions with these facts. Default: the hooks are not called. */
  readonly hooks?: SummaryHooks
}

/** Describes the model call of a summary to the agent's extensions. */
export interface SummaryHooks {
  /** The `id` that the hooks get. */
  readonly id: string
  /** Key of the session that the messages are from. */
  readonly sessionKey: string
  /** Number of the last turn of that session. */
  readonly turn: number
  /** Called for each hook that fails or is too slow. The model call is made anyway, unless the extension has `onError: 'fail'`. */
  readonly onError: (failure: { readonly extension: string; readonly message: string }) => void
}

/** A summary, or the reason why there is none. `usage` and `cost` are those of the model call in both cases. */
export type MessagesSummary = { readonly usage: Usage; readonly cost?: Cost } & (
  | { readonly summary: string }
  | { readonly failure: string }
)

/**
 * Summarises messages in one model call, with the model and the prompt of the agent's compactions. No journal records the call. If
 * the call fails, is cut off or is aborted, it resolves with `failure`. Throws `AgentError` `invalid-config`.
 */
export async function summarizeMessages(agent: Agent, options: SummarizeOptions): Promise<MessagesSummary> {
  const definition = definitionOf(agent) ?? refuseConfig(`agent must be made by defineAgent; received ${describeValue(agent)}`)
  checkKeys('summarizeMessages.options', options, ['messages', 'instructions', 'abortSignal', 'clock', 'hooks'])
  checkText('instructions', options.instructions)
  checkSignal('abortSignal', options.abortSignal)
  checkMethods('clock', options.clock, ['now', 'setTimer'])
  checkRequired('messages', options.messages, 'a list of messages', Array.isArray)
  checkHooks(options.hooks)
  const clock = holdingClock(options.clock ?? systemClock)
  const stop = new StopSwitch(() => clock.now())
  stop.follow(options.abortSignal)
  try {
    return await summarize(definition, options, { clock, stop, spawnChild: (child) => agent.spawnChild(child) })
  } catch (error) {
    return { failure: messageOf(error), usage: {} }
  } finally {
    stop.release()
  }
}

function checkHooks(hooks: SummarizeOptions['hooks']): void {
  if (hooks === undefined) return
  checkKeys('hooks', hooks, ['id', 'sessionKey', 'turn', 'onError'])
  checkName('hooks.id', hooks.id)
  checkName('hooks.sessionKey', hooks.sessionKey)
  checkWhole('hooks.turn', needed(hooks.turn), 0)
  checkFunction('hooks.onError', needed(hooks.onError))
}

interface Call extends Pick<ExtensionContext, 'spawnChild'> {
  readonly clock: Clock
  readonly stop: StopSwitch
}

async function summarize(agent: AgentDefinition, options: SummarizeOptions, call: Call): Promise<MessagesSummary> {
  const { messages, instructions = '', hooks } = options
  const { clock, stop } = call
  // An agent with compaction turned off can still summarise.
  const policy = agent.compaction.kind === 'off' ? defaultPolicy : agent.compaction.policy
  const own = modelTarget(agent.model, agent.models, agent.runtimeParams)
  const model = summaryModelFor(agent, own, clock, policy)
  const { maxCharacters, maxTokens } = summarySizeOf(policy, model, { trigger: 'manual', tokensBefore: 0, tokensPerCharacter: 0 })
  const focus = [policy.instructions ?? '', instructions].filter((text) => text.trim() !== '')
  const request = summaryRequest({ messages, focus, maxCharacters })
  if (!request) return { failure: 'the context window has no room for the messages to summarize', usage: {} }
  const onRequest = hooks && requestListener(agent, hooks, { ...call, model: model.name })
  const answer = await model.call({ ...request, maxTokens, abortSignal: stop.signal, ...(onRequest && { onRequest }) })
  const { usage, cost } = answer
  return { ...readSummary(answer), usage, ...(cost && { cost }) }
}

/** Returns undefined if no extension has an `onModelRequest` hook. */
function requestListener(
  agent: AgentDefinition,
  { id, sessionKey, turn, onError }: SummaryHooks,
  { clock, stop, spawnChild, model }: Call & { readonly model: ModelName },
) {
  const calls = new HandlerCalls({
    extensions: agent.extensions,
    clock,
    abortSignal: stop.signal,
    contextOf: () =>
      contextWithoutTurn(agent, {
        runId: '',
        turn,
        sessionKey,
        model,
        stop,
        journal: () => 'idle',
        contextUsage: () => ({ tokens: 0 }),
        instructions: () => '',
        followUp: async () => refusedInput,
        waitForIdle: () => Promise.resolve(),
        spawnChild,
        // No log exists that could store it.
        logStep: () => undefined,
      }),
    onError({ extension, message, fatal }) {
      onError({ extension, message })
      if (fatal) stop.stop({ kind: 'stop', reason: message })
    },
  })
  if (calls.listeners('onModelRequest').length === 0) return undefined
  return (request: SentRequest): Promise<void> =>
    calls.tell('onModelRequest', { id, purpose: 'branch-summary', attempt: 1, model, request })
}
