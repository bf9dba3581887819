import { type CrashMode, type CrashScenario, crashScenarios, exploreCrashes } from '@bowline/testing/crashes'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { behaviours } from './behaviours.ts'
import { answered } from './scenarios.ts'

const newFolder = temporaryFolders()
/** `tools` has its own test. */
const shipped = Object.entries<CrashScenario>(crashScenarios).filter(([name]) => name !== 'tools')

/** In a short run, the longest scenarios are struck in one mode only, all others in both. */
function modesOf(name: string): readonly CrashMode[] {
  const isLong = name === 'background' || name === 'child'
  return (['kill', 'zombie'] as const).slice(0, isLong ? rounds({ short: 1, long: 2 }) : 2)
}

afterEach(() => void vi.useRealTimers())

describe('shipped scenarios with a crash at each of their points', () => {
  it.each(shipped)('S34, S60, S75, S78, S83, S84, S124, S179: nothing is wrong with %s', async (name, scenario) => {
    const report = await exploreCrashes(scenario, { modes: modesOf(name) })
    expect(report.failures).toEqual([])
    expect(report.points).toBeGreaterThan(7)
    // One run without a crash; each point in each mode.
    expect(report.runs).toBe(1 + modesOf(name).length * report.points)
  })

  it('S35, S115, S179: clients with answers and readers find their state after a crash', async () => {
    expect((await exploreCrashes(answered)).failures).toEqual([])
  })

  it.each(Object.entries(behaviours))(
    'S34, S60, S62, S78, S84, S124: after a crash at any point nothing is wrong with %s',
    async (_name, scenario) => {
      expect((await exploreCrashes(scenario, { modes: ['kill'] })).failures).toEqual([])
    },
  )

  it('S62, S179: nothing is wrong after a second crash during the recovery', async () => {
    const report = await exploreCrashes(crashScenarios.remote, { depth: 2, modes: ['kill'] })
    expect(report.failures).toEqual([])
    expect(report.runs).toBeGreaterThan(4 * report.points)
  })

  it('S60, S179: nothing is wrong on a store for one process', async () => {
    const store = () => sqliteStore({ file: join(newFolder(), 'sessions.db'), synchronous: 'normal' })
    const report = await exploreCrashes({ ...crashScenarios.reconcile, store }, { modes: ['kill'] })
    expect(report.failures).toEqual([])
    expect(report.runs).toBeGreaterThan(12)
  })

  it('S180: two tools take less than 10 s, while the clock of the machine does not move', async () => {
    // CPU time of this process, which does not depend on the load of the machine.
    const before = process.cpuUsage()
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'setInterval'] })
    vi.stubGlobal('fetch', () => expect.unreachable('the network is needed'))
    // Not the count of all timers: the test runner sets its own while it loads modules.
    const [set, cleared] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
    try {
      const report = await exploreCrashes(crashScenarios.tools)
      expect(report.failures).toEqual([])
      expect(report.runs).toBeGreaterThan(2 * report.points)
      const ended = new Set<unknown>(cleared.mock.calls.map(([timer]) => timer))
      expect(
        set.mock.calls.filter((_call, place) => !ended.has(set.mock.results[place]?.value)).map(([run, ms]) => `${ms} ms: ${String(run)}`),
      ).toEqual([])
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1e6).toBeLessThan(10)
    } finally {
      vi.restoreAllMocks()
      vi.unstubAllGlobals()
    }
  })
})
