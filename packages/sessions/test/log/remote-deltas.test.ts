import { expect, it } from 'vitest'
import type { DeltaBatch, DeltaPlace } from '../../src/contract/session-store.ts'
import { LiveLog } from '../../src/log/live-log.ts'
import { RemoteDeltas } from '../../src/log/remote-deltas.ts'
import { gate } from '../support.ts'

const batch = (n: number, text: string): DeltaBatch => ({
  key: 'k',
  runId: 'run-1',
  epoch: 1,
  base: 3,
  n,
  events: [{ type: 'text-delta', at: 0, runId: 'run-1', turn: 1, step: 1, messageId: 'm', index: 0, delta: text }],
})

/** Creates a reader of one session. `read` returns the deltas. */
function reading(read: (key: string, after: DeltaPlace) => Promise<readonly DeltaBatch[]>) {
  const live = new LiveLog()
  const faults: unknown[] = []
  const remote = new RemoteDeltas({
    deltas: { push: () => Promise.resolve(), read },
    live,
    isExecutedHere: () => false,
    onError: (error, session) => faults.push([error, session]),
  })
  const queue = live.session('k').subscribe(0)
  return { remote, queue, faults }
}

it.each(['rejects', 'throws'])('S188: a store that %s is reported, and the next hint causes a new read', async (how) => {
  const away = new Error('away')
  let isAway = true
  const { remote, queue, faults } = reading(() => {
    if (isAway && how === 'throws') throw away
    return isAway ? Promise.reject(away) : Promise.resolve([batch(1, 'a')])
  })
  await remote.fetch('k')
  expect(faults).toEqual([[away, 'k']])
  expect(queue.head).toBeUndefined()
  isAway = false
  await remote.fetch('k')
  expect(queue.head).toMatchObject({ kind: 'delta', base: 3, n: 1 })
  expect(faults).toHaveLength(1)
})

it('S188: hints that come during a read cause one more read', async () => {
  const held = gate()
  const asked: DeltaPlace[] = []
  const { remote, queue } = reading(async (_key, after) => {
    asked.push(after)
    if (asked.length === 1) await held.passed
    return [batch(asked.length, 'a')]
  })
  const fetches = [remote.fetch('k'), remote.fetch('k'), remote.fetch('k')]
  held.open()
  await Promise.all(fetches)
  expect(asked).toEqual([
    { base: 0, n: 0 },
    { base: 3, n: 1 },
  ])
  expect([queue.shift(), queue.shift(), queue.shift()]).toMatchObject([{ n: 1 }, { n: 2 }, undefined])
})
