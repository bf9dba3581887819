import { scriptedModel } from '@bowline/llm/testing'
import { type CrashScenario, crashScenarios, exploreCrashes, standardInvariants } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { lateLedger, withoutFence } from './planted-faults.ts'

describe('a crash report', () => {
  it('S179: is the same for equal scenarios and seeds', async () => {
    const explore = () => exploreCrashes({ ...crashScenarios.tools, runtime: withoutFence }, { seed: 7, modes: ['zombie'] })
    const first = await explore()
    expect(first.failures.length).toBeGreaterThan(3)
    expect(await explore()).toEqual(first)
  })

  it('S179: names a point that can be replayed alone, also a point within a recovery', async () => {
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
    expect(deep.failures[0]?.invariant).toBe('a call with effect once takes effect at most once')
  })

  it('S179: an unknown point is refused with a list of the known points', async () => {
    await expect(exploreCrashes(crashScenarios.text, { only: '99 nowhere' })).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('"1 before-commit session-start+run-queued"') as string,
    })
  })

  it('S179: a problem without a crash is reported, and no crash is tried', async () => {
    const broken = { name: 'never right', check: () => ['as expected'] }
    const report = await exploreCrashes({ ...crashScenarios.text, invariants: [broken] })
    expect(report).toMatchObject({ runs: 1, failures: [{ point: '', mode: 'none', invariant: 'never right', problems: ['as expected'] }] })
  })

  it('S179: a client that fails or never ends is reported', async () => {
    const failing = await exploreCrashes({ ...crashScenarios.text, drive: () => Promise.reject(new Error('no way')) })
    expect(failing.failures).toMatchObject([{ invariant: 'the scenario ends', problems: [expect.stringContaining('Error: no way')] }])
    const waiting = await exploreCrashes({ ...crashScenarios.text, drive: () => new Promise(() => undefined) }, { restWithinMs: 5_000 })
    expect(waiting.failures).toMatchObject([{ invariant: 'the scenario ends', problems: [expect.stringContaining('5000 ms')] }])
  })

  it('S179: a scenario that differs from run to run is refused', async () => {
    let runs = 0
    const agents = () => [{ name: 'assistant', model: scriptedModel([{ text: 'ok' }]) }]
    const drive: CrashScenario['drive'] = async (runtime) => {
      if (++runs === 1) await (await runtime.session('room:1').send('go', { id: 'a' })).result()
    }
    await expect(exploreCrashes({ agents, drive })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('S179: checks the standard invariants', () => {
    const names = standardInvariants.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toMatchInlineSnapshot(`
      [
        "at rest no run is running or due",
        "each accepted input has a run that has ended or waits",
        "each accepted input is stored, and is accepted once",
        "a session without an open run has no unread inbox rows",
        "an accepted answer is kept until it is used",
        "a process that lost a run writes nothing more for it",
        "a call with effect once takes effect at most once",
        "each call has one idempotency key of its own",
        "each effect has a recorded outcome, or its outcome is reported as unknown",
        "a call has one outcome",
        "the transcript is valid",
        "the events of a log are numbered without gaps",
        "each event belongs to a commit, and each claim to one process",
        "a turn ends once",
        "a compaction run compacts once",
        "the log follows the event grammar",
        "a session without an open run has settled",
        "the view folded from the log has the messages of the transcript",
      ]
    `)
  })
})
