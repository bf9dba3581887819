import type { AssistantMessage, Message } from '@bowline/llm'
import { clientCalls } from '../../base/messages.ts'
import type { CompactionPolicy } from '../../contract/compaction.ts'
import { thresholdOf } from './policy.ts'
import type { CompactionCause } from './policy.ts'

/** A place in a list of messages: what stands before it is summarised. */
export interface Cut {
  readonly index: number
  /** Where the turn begins that the cut goes through; absent when it lies between two turns. */
  readonly turnStart?: number
}

export interface KeptSize {
  /** About so much is kept, */
  readonly keepTokens: number
  /** and never more than this, unless the last step alone is more. */
  readonly mostTokens: number
}

/**
 * How much is kept: never as much as would make a compaction due again soon, and at most half of what has no room for
 * the next call.
 */
export function keptSizeOf(
  { keepRecentTokens, ...policy }: CompactionPolicy,
  contextWindow: number | undefined,
  { trigger, tokensBefore }: CompactionCause,
): KeptSize {
  const hasNoRoom = trigger === 'overflow' || trigger === 'window'
  const threshold = contextWindow === undefined ? Infinity : thresholdOf(policy, contextWindow)
  const mostTokens = Math.min(threshold / 2, hasNoRoom ? tokensBefore / 2 : Infinity)
  const keep = keepRecentTokens < threshold ? keepRecentTokens : threshold / 2
  return { keepTokens: hasNoRoom ? Math.min(keep, mostTokens) : keep, mostTokens: Math.max(mostTokens, keep) }
}

/**
 * Where to cut so that about `keepTokens` are kept: at the nearest user or assistant message at or before that place.
 * Undefined when nothing older than the kept part is there.
 */
export function findCut(
  messages: readonly Message[],
  { keepTokens, mostTokens }: KeptSize,
  tokensOf: (message: Message) => number,
): Cut | undefined {
  let index = messages.length
  let kept = 0
  const goBack = (): void => {
    index--
    kept += tokensOf(messages[index] as Message)
  }
  while (index > 0 && (kept < keepTokens || index === messages.length)) goBack()
  while (index > 0 && !isLegalCut(messages, index)) goBack()
  if (kept > mostTokens) index = nextCut(messages, index) ?? index
  return index > 0 ? cutAt(messages, index) : undefined
}

/** A message, or a step, that is too large to be kept goes with what is older. */
function nextCut(messages: readonly Message[], index: number): number | undefined {
  for (let place = index + 1; place < messages.length; place++) if (isLegalCut(messages, place)) return place
  return undefined
}

/** True when no call is parted from its result, and none that is still open from the result to come. */
export function isLegalCut(messages: readonly Message[], index: number): boolean {
  const before = messages[index - 1]
  if (before?.role === 'assistant' && before.paused) return false
  const message = messages[index]
  if (!message) return index === messages.length && !isOpen(messages)
  return message.role === 'user' || (message.role === 'assistant' && !endsEarlierCall(message))
}

export function cutAt(messages: readonly Message[], index: number): Cut {
  const first = messages[index]
  if (!first || first.role === 'user') return { index }
  let turnStart = index
  while (turnStart > 0 && messages[turnStart]?.role !== 'user') turnStart--
  return { index, turnStart }
}

/** The latest answer waits for results. */
function isOpen(messages: readonly Message[]): boolean {
  let results = 0
  for (let place = messages.length - 1; place >= 0; place--) {
    const message = messages[place]
    if (message?.role === 'tool-result') results++
    else return message?.role === 'assistant' && clientCalls(message).length > results
  }
  return false
}

/** A tool of the provider may end in the answer behind the one that called it. */
function endsEarlierCall({ content }: AssistantMessage): boolean {
  return content.some(
    (part) =>
      part.type === 'tool-result' &&
      !content.some((other) => other.type === 'tool-call' && other.toolCallId === part.toolCallId),
  )
}
