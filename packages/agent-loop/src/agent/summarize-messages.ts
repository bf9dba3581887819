import { holdingClock, systemClock } from '@bowline/llm'
import type { Clock, Cost, Message, Usage } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { messageOf } from '../base/agent-error.ts'
import { checkKeys, checkMethods, checkRequired, checkSignal, checkText, refuseConfig } from '../base/checks.ts'
import type { Agent } from '../contract/agent.ts'
import { modelTarget } from '../kernel/model-target.ts'
import { summaryModelFor } from '../plugins/compaction/compaction.ts'
import { defaultPolicy } from '../plugins/compaction/policy.ts'
import { readSummary, summaryRequest, summarySizeOf } from '../plugins/compaction/summary.ts'
import { definitionOf } from '../run/definition.ts'
import type { AgentDefinition } from '../run/definition.ts'
import { ContextEstimate } from '../transcript/estimate.ts'

export interface SummarizeOptions {
  /** The messages to summarise, oldest first. */
  readonly messages: readonly Message[]
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Aborting it ends the model call. */
  readonly abortSignal?: AbortSignal
  /** Time and timers. Default: those of the system. */
  readonly clock?: Clock
}

/** What the call used is told whatever came of it. */
export type MessagesSummary = { readonly usage: Usage; readonly cost?: Cost } & (
  | { readonly summary: string }
  | { readonly failure: string }
)

/**
 * Says in short what messages say, with the model and the words of the agent's compactions: one model call that no
 * journal knows of. A call that fails, is cut or stopped is a failure; it throws only `invalid-config`.
 */
export async function summarizeMessages(agent: Agent, options: SummarizeOptions): Promise<MessagesSummary> {
  const definition = definitionOf(agent) ?? refuseConfig(`agent must be made by defineAgent; received ${describeValue(agent)}`)
  checkKeys('summarizeMessages.options', options, ['messages', 'instructions', 'abortSignal', 'clock'])
  checkText('instructions', options.instructions)
  checkSignal('abortSignal', options.abortSignal)
  checkMethods('clock', options.clock, ['now', 'setTimer'])
  checkRequired('messages', options.messages, 'a list of messages', Array.isArray)
  try {
    return await summarize(definition, options)
  } catch (error) {
    return { failure: messageOf(error), usage: {} }
  }
}

async function summarize(agent: AgentDefinition, options: SummarizeOptions): Promise<MessagesSummary> {
  const { messages, instructions = '', abortSignal = new AbortController().signal } = options
  const clock = holdingClock(options.clock ?? systemClock)
  // An agent without compactions has summaries all the same.
  const policy = agent.compaction.kind === 'off' ? defaultPolicy : agent.compaction.policy
  const own = modelTarget(agent.model, agent.models, agent.runtimeParams)
  const model = summaryModelFor(agent, own, clock, policy)
  const { tokensPerCharacter } = new ContextEstimate(model.name)
  const { maxCharacters, maxTokens } = summarySizeOf(policy, model, { trigger: 'manual', tokensBefore: 0, tokensPerCharacter })
  const focus = [policy.instructions ?? '', instructions].filter((text) => text.trim() !== '')
  const request = summaryRequest({ messages, focus, maxCharacters })
  if (!request) return { failure: 'the window has no room for the messages that are to be summarised', usage: {} }
  const answer = await model.call({ ...request, maxTokens, abortSignal })
  const { usage, cost } = answer
  return { ...readSummary(answer), usage, ...(cost && { cost }) }
}
