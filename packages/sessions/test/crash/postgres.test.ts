import { crashScenarios, exploreCrashes } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { sharedStores } from './shared-stores.ts'

const newStore = sharedStores(postgresPlace())

const names = (['reconcile', 'tools', 'remote', 'approval', 'child'] as const).slice(0, rounds({ short: 1, long: 5 }))
const cases = names.flatMap((name) => (['kill', 'zombie'] as const).map((mode) => ({ name, mode })))

describe('a crash at each point of a scenario over Postgres', () => {
  it.each(cases)('S34, S36, S60, S75, S78, S179: nothing is wrong with $name ($mode)', async ({ name, mode }) => {
    const report = await exploreCrashes({ ...crashScenarios[name], store: newStore }, { modes: [mode] })
    expect(report.failures).toEqual([])
    expect(report.runs).toBeGreaterThan(report.points / 2)
  })
})
