import type { StoredEvent } from '../contract/records.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { durableBytes } from './event-bytes.ts'

/** Small, as its events may be large. */
export const firstPage = 16
const largestPage = 500

/** As many events as a reader may hold, by what those of the page before weighed. */
export function nextPage(size: number, events: readonly StoredEvent[], bufferBytes: number): number {
  const bytes = events.reduce((sum, event) => sum + durableBytes(event), 0)
  const fitting = bytes === 0 ? largestPage : Math.floor((bufferBytes * events.length) / bytes)
  return Math.max(1, Math.min(fitting, size * 4, largestPage))
}

/** Commits of other processes may not be announced here: look at least so often. */
export const pollMs = 1000

const restingPollMs = 16_000

/** When to look, while nothing happens, and how often at last: a store of one process tells of every commit. */
export function pollsOf({ capabilities }: SessionStore): { readonly firstMs: number; readonly mostMs: number } {
  return { firstMs: pollMs, mostMs: capabilities.processes === 'one' ? restingPollMs : pollMs }
}
