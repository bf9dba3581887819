import type { StoredEvent } from '../contract/records.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { durableBytes } from './event-bytes.ts'

/** Size of the first page. Small, since its events may be large. */
export const firstPage = 16
const largestPage = 500

/** Returns the size of the next page: as many events as the buffer can hold, judged by the previous page. */
export function nextPage(size: number, events: readonly StoredEvent[], bufferBytes: number): number {
  const bytes = events.reduce((sum, event) => sum + durableBytes(event), 0)
  const fitting = bytes === 0 ? largestPage : Math.floor((bufferBytes * events.length) / bytes)
  return Math.max(1, Math.min(fitting, size * 4, largestPage))
}

/** Poll interval in ms, since commits of other processes may not be announced here. */
export const pollMs = 1000

const restingPollMs = 16_000

/** Returns the first and the longest poll interval of an idle reader. A single-process store announces every commit. */
export function pollsOf({ capabilities }: SessionStore): { readonly firstMs: number; readonly mostMs: number } {
  return { firstMs: pollMs, mostMs: capabilities.processes === 'one' ? restingPollMs : pollMs }
}
