import type { SessionStore } from '@bowline/sessions'
import { testRowStore } from '@bowline/testing/stores'
import { randomRuns } from '../../../scripts/test-length.ts'
import { kitRunner } from '../../sessions/test/rows/kit-runner.ts'
import { testWholeStore } from '../../sessions/test/stores/whole-store.ts'
import { postgresRows } from '../src/store/postgres-rows.ts'
import { ServerClock, type PostgresPlace } from './place.ts'

/** Runs the kits on the rows and the stores of this place. */
export function testPostgresKit(place: PostgresPlace, mostPrograms: number): void {
  const rows = async () => postgresRows(place.shared())
  const { numRuns: programs, seed } = randomRuns(mostPrograms)
  testRowStore({ name: 'postgres', create: rows, reopen: rows, second: rows, programs, seed, runner: kitRunner })

  const clocks = new WeakMap<SessionStore, ServerClock>()
  const under = (clock: ServerClock, store: SessionStore): SessionStore => {
    const clocked = clock.under(store)
    clocks.set(clocked, clock)
    return clocked
  }
  const clockOf = (store: SessionStore): ServerClock => clocks.get(store) ?? new ServerClock()
  const another = async (store: SessionStore): Promise<SessionStore> =>
    under(clockOf(store), place.store({ ...place.shared(), clock: clockOf(store) }))
  testWholeStore({
    name: 'postgres',
    async create() {
      const clock = new ServerClock()
      return under(clock, await place.empty({ ...place.shared(), clock }))
    },
    reopen: another,
    second: another,
    loss: 'lease',
    sharesDeltas: true,
  })
}
