import type { SessionStore } from '@bowline/sessions'
import { testWholeKit } from '../../sessions/test/stores/whole-kit.ts'
import { ServerClock, type PostgresPlace } from './place.ts'

/** Runs the kit on stores of this place. */
export function testPostgresKit(place: PostgresPlace): void {
  const clocks = new WeakMap<SessionStore, ServerClock>()
  const under = (clock: ServerClock, store: SessionStore): SessionStore => {
    const clocked = clock.under(store)
    clocks.set(clocked, clock)
    return clocked
  }
  const clockOf = (store: SessionStore): ServerClock => clocks.get(store) ?? new ServerClock()
  const another = async (store: SessionStore): Promise<SessionStore> =>
    under(clockOf(store), place.store({ ...place.shared(), clock: clockOf(store) }))
  testWholeKit({
    name: 'postgres',
    async create() {
      const clock = new ServerClock()
      return under(clock, await place.empty({ ...place.shared(), clock }))
    },
    reopen: another,
    second: another,
    limitsRecords: true,
    loss: 'lease',
    sharesDeltas: true,
    exceptions: [
      // Tested on its own server in growth.test.ts.
      'S54: the bytes of a commit after 1,000 others are those after 20',
    ],
  })
}
