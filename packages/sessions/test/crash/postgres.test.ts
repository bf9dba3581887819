import type { SessionStore } from '@bowline/sessions'
import { crashScenarios, exploreCrashes } from '@bowline/sessions/testing'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { postgresPlace, ServerClock } from '../stores/postgres/place.ts'

const place = postgresPlace()
let runs = 0

/** Creates a store that all processes of a run open. Each run has its own sessions. */
function newStore(): SessionStore {
  const clock = new ServerClock()
  const store = clock.under(place.store({ ...place.shared(false), clock, migrate: false }))
  const namespace = `run-${(runs += 1)}`
  let users = 0
  return {
    ...store,
    async open(options) {
      users += 1
      if (users === 1) await store.open({ ...options, namespace })
    },
    async close() {
      users -= 1
      if (users === 0) await store.close()
    },
  }
}

const names = (['reconcile', 'tools', 'remote', 'approval', 'child'] as const).slice(0, rounds({ short: 1, long: 5 }))
const cases = names.flatMap((name) => (['kill', 'zombie'] as const).map((mode) => ({ name, mode })))

describe('a crash at each point of a scenario over Postgres', () => {
  it.each(cases)('S34, S36, S60, S75, S78, S179: nothing is wrong with $name ($mode)', async ({ name, mode }) => {
    const report = await exploreCrashes({ ...crashScenarios[name], store: newStore }, { modes: [mode] })
    expect(report.failures).toEqual([])
    expect(report.runs).toBeGreaterThan(report.points / 2)
  })
})
