import { fileStore } from '@bowline/sessions/file'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { crashScenarios, exploreStoreFaults } from '@bowline/testing/crashes'
import type { CrashScenario, StoreFaultFailure, StoreFaultReport } from '@bowline/testing/crashes'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rounds, testSeed as seed } from '../../../../scripts/test-length.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { alwaysStored, namedAnew, takenForFenced } from './planted-faults.ts'
import { sharedStores } from './shared-stores.ts'

const newFolder = temporaryFolders()
const postgres = sharedStores(postgresPlace())
const scenarios = Object.entries<CrashScenario>(crashScenarios)

/** In a short run the seed draws the faults, in a long one each call fails in each way. */
const onMemory = { seed, ...rounds<object>({ short: { singles: 40 }, long: {} }), pairs: rounds({ short: 8, long: 400 }) }
const onDisk = { seed, ...rounds<object>({ short: { singles: 12 }, long: {} }), pairs: rounds({ short: 3, long: 50 }) }
const disks = {
  file: () => fileStore({ dir: newFolder(), fsync: false }),
  sqlite: () => sqliteStore({ file: join(newFolder(), 'sessions.db'), synchronous: 'normal' }),
  postgres,
} as const

/** A failure prints the seed with which the same faults are drawn again. */
function expectNothingWrong({ failures, runs, calls }: StoreFaultReport): void {
  expect(failures.map(printed), `TEST_SEED=${seed}`).toEqual([])
  expect(runs).toBeGreaterThan(Math.min(calls, 15))
}

function printed({ point, invariant, problems }: StoreFaultFailure): string {
  return `${point}: ${invariant}: ${problems.join('; ')}`
}

describe('a store that fails while the process lives on', () => {
  it.each(scenarios)('S34, S75, S196: nothing is lost, doubled or ended by it: %s', async (_name, scenario) => {
    expectNothingWrong(await exploreStoreFaults(scenario, onMemory))
  })

  it.each(Object.entries(disks))('S34, S75, S196: nothing is wrong over the %s store', async (_name, store) => {
    expectNothingWrong(await exploreStoreFaults({ ...crashScenarios.tools, store }, onDisk))
  })
})

describe('planted mistakes about failures of a store', () => {
  it('S195: a commit that is repeated under another id is found', async () => {
    const scenario = { ...crashScenarios.text, runtime: namedAnew }
    const { failures } = await exploreStoreFaults(scenario, { faults: ['answer-lost'], restWithinMs: 60_000 })
    const found = expect.stringMatching(/^\d+ commit .* answer-lost: all ends as without the fault: .* is error/)
    expect(failures.map(printed)).toContainEqual(found)
  })

  it('S34: an input that is acknowledged although the store did not get it is found', async () => {
    const scenario = { ...crashScenarios.steer, runtime: alwaysStored }
    const { failures } = await exploreStoreFaults(scenario, { faults: ['unavailable'], restWithinMs: 60_000 })
    expect(failures.map(printed)).toContainEqual(expect.stringMatching(/^\d+ commit inbox.put unavailable: each accepted input is stored/))
  })

  it('S75: a process that forgets an outcome because the store fails is found, also by a pair, which can be replayed', async () => {
    const scenario = { ...crashScenarios.tools, runtime: takenForFenced }
    const { failures } = await exploreStoreFaults(scenario, { singles: 0, pairs: 40, faults: ['unavailable'], seed: 3 })
    const pair = failures.find((failure) => printed(failure).includes('the call of pay is unknown, without the fault result'))
    expect(pair?.point).toContain(' > ')
    const alone = await exploreStoreFaults(scenario, { only: pair?.point ?? '' })
    expect(alone.runs).toBe(2)
    expect(alone.failures).toContainEqual(pair)
  })

  it('S179: an unknown point is refused with a list of the known points', async () => {
    const message = expect.stringContaining('commit session-start+run-queued full"')
    for (const only of ['99 nowhere away', '2 claim', '2 claim unavailable > nowhere']) {
      const refused = exploreStoreFaults(crashScenarios.text, { only })
      await expect(refused).rejects.toMatchObject({ code: 'invalid-config', message })
    }
  })

  it('S179: equal scenarios and seeds give equal reports', async () => {
    const explore = () => exploreStoreFaults({ ...crashScenarios.tools, runtime: takenForFenced }, { singles: 16, pairs: 3, seed: 7 })
    const report = await explore()
    expect(report.failures.length).toBeGreaterThan(1)
    expect(await explore()).toEqual(report)
  })
})
