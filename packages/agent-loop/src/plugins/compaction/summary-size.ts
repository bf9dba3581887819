import type { CompactionPolicy } from '../../contract/compaction.ts'
import type { KeptSize } from './cut.ts'
import { thresholdOf } from './due.ts'
import type { CompactionTask } from './host.ts'
import type { SummaryModel } from './summary-model.ts'

/** For a model of unknown size. */
const assumedWindow = 128_000
/** A share of the room stays free: characters only tell about how many tokens they are. */
const usedShare = 0.9
const leastOutputTokens = 1_024
/** What any model can read, whatever the estimate of a conversation that was refused as too long. */
const readableTokens = 8_000
const leastTokensPerCharacter = 0.25

/** What one call for a summary may send and say. */
export interface SummarySize {
  readonly maxCharacters: number
  readonly tokensPerCharacter: number
  readonly maxTokens: number
}

export function summarySizeOf(
  { reserveTokens }: CompactionPolicy,
  { contextWindow = assumedWindow, maxOutputTokens = Infinity }: SummaryModel,
  { trigger, tokensBefore, tokensPerCharacter }: Pick<CompactionTask, 'trigger' | 'tokensBefore'> & { readonly tokensPerCharacter: number },
): SummarySize {
  // A conversation that was refused as too long has more tokens than the estimate says.
  const window = trigger === 'overflow' ? Math.min(contextWindow, Math.max(tokensBefore, readableTokens)) : contextWindow
  const maxTokens = Math.floor(Math.min(Math.max(reserveTokens, leastOutputTokens), maxOutputTokens, window / 2))
  const cautious = Math.max(tokensPerCharacter, leastTokensPerCharacter)
  const maxCharacters = Math.floor(((window - maxTokens) * usedShare) / cautious)
  return { maxCharacters, tokensPerCharacter: cautious, maxTokens }
}

/**
 * How much is kept: never as much as would make a compaction due again soon, and at most half of what has no room for
 * the next call.
 */
export function keptSizeOf(
  { keepRecentTokens, ...policy }: CompactionPolicy,
  contextWindow: number | undefined,
  { trigger, tokensBefore }: Pick<CompactionTask, 'trigger' | 'tokensBefore'>,
): KeptSize {
  const hasNoRoom = trigger === 'overflow' || trigger === 'window'
  const threshold = contextWindow === undefined ? Infinity : thresholdOf(policy, contextWindow)
  const mostTokens = Math.min(threshold / 2, hasNoRoom ? tokensBefore / 2 : Infinity)
  const keep = keepRecentTokens < threshold ? keepRecentTokens : threshold / 2
  return { keepTokens: hasNoRoom ? Math.min(keep, mostTokens) : keep, mostTokens: Math.max(mostTokens, keep) }
}
