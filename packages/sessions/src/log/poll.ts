import type { SessionStore } from '../contract/session-store.ts'

/** Commits of other processes may not be announced here: look at least so often. */
export const pollMs = 1000
const restingPollMs = 16_000

/** When to look, while nothing happens, and how often at last: a store of one process tells of every commit. */
export function pollsOf({ capabilities }: SessionStore): { readonly firstMs: number; readonly mostMs: number } {
  return { firstMs: pollMs, mostMs: capabilities.processes === 'one' ? restingPollMs : pollMs }
}
