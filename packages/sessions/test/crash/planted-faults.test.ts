import { crashScenarios, exploreCrashes, type ExploreOptions } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { earlyTake, lateLedger, withoutFence } from './planted-faults.ts'

/** A run that a fault keeps from its end is soon given up. */
const planted: ExploreOptions = { modes: ['kill'], restWithinMs: 60_000 }

describe('planted faults', () => {
  it('S72, S179: a ledger row that is written after the tool starts is found', async () => {
    const { failures } = await exploreCrashes({ ...crashScenarios.tools, runtime: lateLedger }, planted)
    expect(failures).toContainEqual(
      expect.objectContaining({
        mode: 'kill',
        point: expect.stringContaining('tool-end pay') as string,
        invariant: 'a call with effect once takes effect at most once',
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

  it.each(['steer', 'overlay', 'background'] as const)(
    'S22, S29, S140, S179: an input or a task notification that is taken too early is found (%s)',
    async (name) => {
      const { failures } = await exploreCrashes({ ...crashScenarios[name], runtime: earlyTake }, planted)
      expect(failures.map(({ point }) => point)).toContainEqual(expect.stringMatching(/after-commit inbox\.(take|patch)/))
      const invariant =
        name === 'background' ? 'a session is reminded once of its background tasks' : 'each accepted input is stored, and is accepted once'
      expect(new Set(failures.map((failure) => failure.invariant))).toContain(invariant)
    },
  )

  it.each(['text', 'tools', 'remote'] as const)('S36, S179: a commit without its fence is found (%s)', async (name) => {
    const { failures } = await exploreCrashes({ ...crashScenarios[name], runtime: withoutFence }, { modes: ['zombie'] })
    const invariants = new Set(failures.map((failure) => failure.invariant))
    expect(invariants).toContain('a process that lost a run writes nothing more for it')
    expect(invariants).toContain('the log follows the event grammar')
  })
})
