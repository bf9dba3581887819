import { expect } from 'vitest'
import type { SessionStore } from '../../src/contract/session-store.ts'

/** Expects whole commits of the writer in `fixtures/store-process.ts`, at least the acknowledged ones. */
export async function expectWholeCommits(store: SessionStore, acknowledged: number): Promise<void> {
  const read = await store.readSession('room:1')
  const done = read.status === 'found' ? read.value.version : 0
  expect(done).toBeGreaterThanOrEqual(acknowledged)
  // One more commit may have been stored without being acknowledged.
  expect(done).toBeLessThanOrEqual(acknowledged + 1)
  const { events, lastSeq } = await store.readEvents('room:1', 0, 10_000)
  expect(lastSeq).toBe(done * 2)
  expect(events.map((event) => event.seq)).toEqual(Array.from({ length: done * 2 }, (_, index) => index + 1))
  const { items } = await store.readPath('room:1', { limit: 1000 })
  expect(items.map((entry) => entry.n)).toEqual(Array.from({ length: done }, (_, index) => done - index))
  const runs = await store.listRuns('room:1', { limit: 1000 })
  expect(runs.items.map((run) => run.status)).toEqual(Array.from({ length: done }, () => 'aborted'))
}
