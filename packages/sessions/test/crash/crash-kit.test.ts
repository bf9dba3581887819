import { crashScenarios, exploreCrashes, standardInvariants, type CrashMode, type CrashScenario, type ExploreOptions } from '@bowline/sessions/testing'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { join } from 'node:path'
import { scriptedModel } from '@bowline/llm/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { behaviours } from './behaviours.ts'
import { earlyTake, lateLedger, withoutFence } from './planted-faults.ts'
import { answered } from './scenarios.ts'

const newFolder = temporaryFolders()
/** `tools` has a test of its own. */
const shipped = Object.entries<CrashScenario>(crashScenarios).filter(([name]) => name !== 'tools')
/** A run that a fault keeps from its end is given up soon. */
const planted: ExploreOptions = { modes: ['kill'], restWithinMs: 60_000 }

/** The longest scenarios are struck in each mode in a long run only: the others are, in every run. */
function modesOf(name: string): readonly CrashMode[] {
  const isLong = name === 'background' || name === 'child'
  return (['kill', 'zombie', 'lost-response'] as const).slice(0, isLong ? rounds({ short: 1, long: 3 }) : 3)
}

afterEach(() => void vi.useRealTimers())

describe('shipped scenarios with a crash at each of their points', () => {
  it.each(shipped)('S34, S60, S75, S78, S83, S84, S124, S179: nothing is wrong with %s', async (name, scenario) => {
    const report = await exploreCrashes(scenario, { modes: modesOf(name) })
    expect(report.failures).toEqual([])
    expect(report.points).toBeGreaterThan(7)
    // The run without a crash, each point killed and stopped, each commit and claim without an answer.
    expect(report.runs).toBeGreaterThan(modesOf(name).length === 3 ? 2 * report.points : report.points)
  })

  it('S35, S115, S179: answers and readers that come back find what they left', async () => {
    expect((await exploreCrashes(answered)).failures).toEqual([])
  })

  it.each(Object.entries(behaviours))('S34, S60, S62, S78, S84, S124: whoever dies where, nothing is wrong with %s', async (_name, scenario) => {
    expect((await exploreCrashes(scenario, { modes: ['kill'] })).failures).toEqual([])
  })

  it('S62, S179: nothing is wrong after a second crash during the recovery', async () => {
    const report = await exploreCrashes(crashScenarios.remote, { depth: 2, modes: ['kill'] })
    expect(report.failures).toEqual([])
    expect(report.runs).toBeGreaterThan(4 * report.points)
  })

  it('S60, S179: nothing is wrong on a store of one process', async () => {
    const store = () => sqliteStore({ file: join(newFolder(), 'sessions.db'), synchronous: 'normal' })
    const report = await exploreCrashes({ ...crashScenarios.reconcile, store }, { modes: ['kill'] })
    expect(report.failures).toEqual([])
    expect(report.runs).toBeGreaterThan(12)
  })

  it('S180: two tools take less than 10 s, with the clock of the machine standing still', async () => {
    // Of this process: what else the machine does is not counted.
    const before = process.cpuUsage()
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'setInterval'] })
    vi.stubGlobal('fetch', () => expect.unreachable('the network is needed'))
    try {
      const report = await exploreCrashes(crashScenarios.tools)
      expect(report.failures).toEqual([])
      expect(report.runs).toBeGreaterThan(2 * report.points)
      expect(vi.getTimerCount()).toBe(0)
      const { user, system } = process.cpuUsage(before)
      expect((user + system) / 1e6).toBeLessThan(10)
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

describe('planted faults', () => {
  it('S72, S179: a ledger row that is written after the tool starts is found', async () => {
    const { failures } = await exploreCrashes({ ...crashScenarios.tools, runtime: lateLedger }, planted)
    expect(failures).toContainEqual(
      expect.objectContaining({
        mode: 'kill',
        point: expect.stringContaining('tool-end pay') as string,
        invariant: 'a tool with the effect once takes effect at most once',
      }),
    )
  })

  it.each(['remote', 'approval'] as const)('S89, S92, S179: an inbox row that is taken too early is found (%s)', async (name) => {
    const { failures } = await exploreCrashes({ ...crashScenarios[name], runtime: earlyTake }, planted)
    expect(failures).toContainEqual(
      expect.objectContaining({
        mode: 'kill',
        point: expect.stringContaining('after-commit inbox.take') as string,
        invariant: 'an accepted answer is kept until it is used',
      }),
    )
  })

  it.each(['steer', 'overlay', 'background'] as const)('S22, S29, S140, S179: an input, or word of a task, that is taken too early is found (%s)', async (name) => {
    const { failures } = await exploreCrashes({ ...crashScenarios[name], runtime: earlyTake }, planted)
    expect(failures.map(({ point }) => point)).toContainEqual(expect.stringMatching(/after-commit inbox\.(take|patch)/))
    const invariant = name === 'background' ? 'a session is reminded once of its background tasks' : 'every accepted input is found again, and accepted once'
    expect(new Set(failures.map((failure) => failure.invariant))).toContain(invariant)
  })

  it.each(['text', 'tools', 'remote'] as const)('S36, S179: a commit without its fence is found (%s)', async (name) => {
    const { failures } = await exploreCrashes({ ...crashScenarios[name], runtime: withoutFence }, { modes: ['zombie'] })
    const invariants = new Set(failures.map((failure) => failure.invariant))
    expect(invariants).toContain('an owner that lost its run writes nothing more')
    expect(invariants).toContain('the log has the grammar of events')
  })
})

describe('a report', () => {
  it('S179: is the same for equal scenarios and seeds', async () => {
    const explore = () => exploreCrashes({ ...crashScenarios.tools, runtime: withoutFence }, { seed: 7, modes: ['zombie'] })
    const first = await explore()
    expect(first.failures.length).toBeGreaterThan(3)
    expect(await explore()).toEqual(first)
  })

  it('S179: names a point that is replayed alone, also one of a recovery', async () => {
    const scenario = { ...crashScenarios.tools, runtime: lateLedger }
    const all = await exploreCrashes(scenario, { modes: ['kill'] })
    const [failure] = all.failures
    const alone = await exploreCrashes(scenario, { modes: ['kill'], only: failure?.point ?? '' })
    expect(alone.runs).toBe(2)
    expect(alone.failures).toEqual(all.failures.filter((each) => each.point === failure?.point))
    expect(failure?.trace.filter((line) => line.includes('is struck'))).toHaveLength(1)
    expect(failure?.trace.filter((line) => line.includes('effect pay'))).toHaveLength(2)

    const deep = await exploreCrashes(scenario, { modes: ['kill'], only: `1 before-commit session-start+run-queued > ${failure?.point}` })
    expect(deep.runs).toBe(3)
    expect(deep.failures[0]?.trace.filter((line) => line.includes('is struck'))).toHaveLength(2)
    expect(deep.failures[0]?.invariant).toBe('a tool with the effect once takes effect at most once')
  })

  it('S179: a point that is not there is refused with those that are', async () => {
    await expect(exploreCrashes(crashScenarios.text, { only: '99 nowhere' })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('"1 before-commit session-start+run-queued"') as string,
    })
  })

  it('S179: what is wrong without a crash is told, and nothing is struck', async () => {
    const broken = { name: 'never right', check: () => ['as expected'] }
    const report = await exploreCrashes({ ...crashScenarios.text, invariants: [broken] })
    expect(report).toMatchObject({ runs: 1, failures: [{ point: '', mode: 'none', invariant: 'never right', problems: ['as expected'] }] })
  })

  it('S179: a client that fails or waits for ever is told', async () => {
    const failing = await exploreCrashes({ ...crashScenarios.text, drive: () => Promise.reject(new Error('no way')) })
    expect(failing.failures).toMatchObject([{ invariant: 'the scenario comes to its end', problems: [expect.stringContaining('Error: no way')] }])
    const waiting = await exploreCrashes({ ...crashScenarios.text, drive: () => new Promise(() => undefined) }, { restWithinMs: 5_000 })
    expect(waiting.failures).toMatchObject([{ invariant: 'the scenario comes to its end', problems: [expect.stringContaining('5000 ms')] }])
  })

  it('S179: a scenario that goes another way each time is refused', async () => {
    let runs = 0
    const agents = () => [{ name: 'assistant', model: scriptedModel([{ text: 'ok' }]) }]
    const drive: CrashScenario['drive'] = async (runtime) => {
      if (++runs === 1) await (await runtime.session('room:1').send('go', { id: 'a' })).result()
    }
    await expect(exploreCrashes({ agents, drive })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('S179: has the invariants that are standard', () => {
    const names = standardInvariants.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toMatchInlineSnapshot(`
      [
        "no run is running at rest",
        "every accepted input has a run that ended or waits",
        "every accepted input is found again, and accepted once",
        "nothing that a run should take is left in a session without one",
        "an accepted answer is kept until it is used",
        "an owner that lost its run writes nothing more",
        "a tool with the effect once takes effect at most once",
        "a call has one idempotency key, and no other call has it",
        "an effect has an outcome, or somebody is told that nobody knows it",
        "a call has one outcome",
        "the transcript is valid",
        "the log is numbered without gaps",
        "a turn ends once",
        "a compaction is made once",
        "the log has the grammar of events",
        "a session without an open run has settled",
        "the log folds to the transcript",
      ]
    `)
  })
})
