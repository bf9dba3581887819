import type { AssistantMessage, Message } from '@bowline/llm'
import { clientCalls } from '../../base/messages.ts'
import type { CompactionPolicy } from '../../contract/compaction.ts'
import { thresholdOf } from './policy.ts'
import type { CompactionCause } from './policy.ts'

/** A place in a list of messages: the messages before it are summarised. */
export interface Cut {
  readonly index: number
  /** Index of the first message of the turn that the cut splits; absent if the cut is between two turns. */
  readonly turnStart?: number
}

export interface KeptSize {
  /** Approximate number of tokens to keep. */
  readonly keepTokens: number
  /** Maximum number of tokens to keep, unless the last step alone has more. */
  readonly mostTokens: number
}

/**
 * Returns how much is kept: never so much that a compaction would soon be due again. If the next call has no room, it is at most
 * half of the current tokens.
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
 * Returns where to cut so that about `keepTokens` are kept: at that place, or at the nearest user or assistant message before it.
 * Returns undefined if nothing is older than the kept part.
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

/** Returns the next place to cut: a message or step that is too large to be kept is summarised too. */
function nextCut(messages: readonly Message[], index: number): number | undefined {
  for (let place = index + 1; place < messages.length; place++) if (isLegalCut(messages, place)) return place
  return undefined
}

/** Returns whether every call stays together with its result, also an open call with its later result. */
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

/** Returns whether the latest answer waits for results. */
function isOpen(messages: readonly Message[]): boolean {
  let results = 0
  for (let place = messages.length - 1; place >= 0; place--) {
    const message = messages[place]
    if (message?.role === 'tool-result') results++
    else return message?.role === 'assistant' && clientCalls(message).length > results
  }
  return false
}

/** Returns whether an answer ends a call of an earlier answer: a tool of the provider may do so. */
function endsEarlierCall({ content }: AssistantMessage): boolean {
  return content.some(
    (part) => part.type === 'tool-result' && !content.some((other) => other.type === 'tool-call' && other.toolCallId === part.toolCallId),
  )
}
