import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import type { ActiveRun, ActiveRuns } from '../../src/runtime/active-runs.ts'
import { Leases } from '../../src/runtime/leases.ts'
import { gate } from '../support.ts'

it('S187: hints that come during a lease request cause one more request, because the answer may be older than they are', async () => {
  const active = { claim: { run: { id: 'run-1', epoch: 1 } }, unheardBeats: 0 } as unknown as ActiveRun
  const aborted: string[] = []
  const runs = { all: () => [active], get: () => active, abort: (id: string) => void aborted.push(id) } as unknown as ActiveRuns
  const answers = [gate(), gate()]
  let asked = 0
  const store = new Proxy(memoryStore(), {
    get: (target, name) => {
      if (name !== 'renew') return Reflect.get(target, name) as unknown
      return async () => {
        const question = asked++
        await answers[question]?.passed
        return [{ runId: 'run-1', held: question === 0 }]
      }
    },
  })
  const faults: unknown[] = []
  const leases = new Leases(
    { store, clock: manualClock(), leaseMs: 10_000, heartbeatMs: 3000, onError: (error) => void faults.push(error) },
    runs,
  )
  for (let hint = 0; hint < 3; hint++) leases.look(active)
  expect(asked).toBe(1)
  answers[0]?.open()
  await expect.poll(() => asked).toBe(2)
  expect(aborted).toEqual([])
  answers[1]?.open()
  await expect.poll(() => aborted).toEqual(['run-1'])
  expect([asked, faults]).toEqual([2, []])
})
