import type { SessionStore } from '@bowline/sessions'
import { faultyStore } from '@bowline/testing/crashes'

export class ProcessDied extends Error {}

/** Wraps a store for a process that dies before or after one of its commits, counted from 1. */
export function dyingStore(
  inner: SessionStore,
  { commit, at }: { readonly commit: number; readonly at: 'before' | 'after' },
): SessionStore {
  let commits = 0
  let dead = false
  const die = async (): Promise<never> => {
    dead = true
    throw new ProcessDied()
  }
  return faultyStore(inner, [
    { of: 'any', when: () => dead, fault: { error: new ProcessDied() } },
    { of: 'commit', when: () => ++commits === commit, fault: { waitFor: die, at } },
  ])
}
