import { memoryStore } from '@bowline/sessions/memory'
import { testPlacement } from '@bowline/testing/placement'
import type { PlacementKitOptions } from '@bowline/testing/placement'
import { describe, expect, it } from 'vitest'
import { InProcessHost, type HostFaults } from './in-process-host.ts'

interface KitTest {
  readonly name: string
  readonly body: () => Promise<void>
}

const simulated = {
  name: 'in process',
  host: ({ clock }) => new InProcessHost(clock),
  time: 'simulated',
} as const satisfies PlacementKitOptions

testPlacement({ ...simulated, programs: 15, runner: { describe, it } })
testPlacement({ ...simulated, name: 'in process, in real time', time: 'system', programs: 1, seed: 4, runner: { describe, it } })

function testsOf(options: PlacementKitOptions): readonly KitTest[] {
  const tests: KitTest[] = []
  testPlacement({ ...options, runner: { describe: (_name, body) => body(), it: (name, body) => void tests.push({ name, body }) } })
  return tests
}

function faulty(faults: HostFaults, programs: number, seed = 1): readonly KitTest[] {
  return testsOf({ ...simulated, programs, seed, host: ({ clock }) => new InProcessHost(clock, faults) })
}

/** Returns the first failure, and the seed of its program. */
async function firstFailure(tests: readonly KitTest[]): Promise<{ readonly seed: number; readonly message: string } | undefined> {
  for (const { name, body } of tests) {
    const message = await body().then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
    if (message !== undefined) return { seed: Number(name.split(' ')[1]), message }
  }
  return undefined
}

/** Returns the names of the broken invariants. */
function brokenIn(message: string): readonly string[] {
  const [problems = ''] = message.split('\nPlay it again')
  return [...new Set(problems.split('\n').map((line) => line.slice(0, line.indexOf(':'))))]
}

describe('the kit for hosts', () => {
  it.each<[string, HostFaults]>([
    ['loses one of ten wakes', { losesEach: 10 }],
    ['never comes back at nextDueAt', { comesBack: 'never' }],
    ['comes back late at nextDueAt', { comesBack: 20_000 }],
    ['forgets the sessions of a killed worker', { forgetsKilled: true }],
  ])('finds a host that %s within 200 programs', async (_name, faults) => {
    expect(brokenIn((await firstFailure(faulty(faults, 200)))?.message ?? '')).toContain('the program ends')
  })

  it.each<[string, HostFaults]>([
    ['works on a session in two workers', { sharesLanes: true }],
    ['takes a session over from a worker that lives', { impatientAfterMs: 1_000 }],
  ])('finds a host that %s within 200 programs, and no promise of the store is broken', async (_name, faults) => {
    const broken = brokenIn((await firstFailure(faulty(faults, 200)))?.message ?? '')
    expect(broken).toEqual(['a run is taken over only from a worker that does not answer'])
  })

  it.each<[string, HostFaults]>([
    ['wakes a session too early, and twice', { wakesTwice: true }],
    ['works on a session in two workers, without a promise to take it over', { sharesLanes: true, takesOver: false }],
  ])('a host that %s is harmless', async (_name, faults) => {
    expect(await firstFailure(faulty(faults, 8))).toBeUndefined()
  })

  it('equal seeds give equal programs, and the failure says how to play one again', async () => {
    const first = await firstFailure(faulty({ losesEach: 10 }, 20))
    expect(first?.message).toContain(`Play it again with programs: 1, seed: ${first?.seed}.`)
    expect(await firstFailure(faulty({ losesEach: 10 }, 1, first?.seed))).toEqual(first)
  })

  it('a store can be given, and a host may restart its engine', async () => {
    let [stores, restarts] = [0, 0]
    const host: PlacementKitOptions['host'] = ({ clock }) =>
      Object.assign(new InProcessHost(clock), { restart: () => Promise.resolve(void (restarts += 1)) })
    const store = () => {
      stores += 1
      return memoryStore()
    }
    expect(await firstFailure(testsOf({ ...simulated, host, store, programs: 6 }))).toBeUndefined()
    expect(stores).toBe(6)
    expect(restarts).toBeGreaterThan(0)
  })

  it.each<[string, object]>([
    ['host', { host: undefined }],
    ['programs', { programs: 0 }],
    ['time', { time: 'fast' }],
    ['withinMs', { withinMs: -1 }],
    ['hosts', { hosts: 1 }],
  ])('refuses a wrong %s', (name, wrong) => {
    expect(() => testPlacement({ ...simulated, ...wrong })).toThrow(name)
  })
})
