import type { SessionStore } from '@bowline/sessions'
import { describe } from 'vitest'
import { postgresPlace, ServerClock } from './place.ts'
import { testWholeKit } from '../whole-kit.ts'

const place = postgresPlace()
const clocks = new WeakMap<SessionStore, ServerClock>()

function under(clock: ServerClock, store: SessionStore): SessionStore {
  const clocked = clock.under(store)
  clocks.set(clocked, clock)
  return clocked
}

function clockOf(store: SessionStore): ServerClock {
  return clocks.get(store) ?? new ServerClock()
}

describe('S177: the kit over the postgres store', () => {
  testWholeKit({
    name: 'postgres',
    async create() {
      const clock = new ServerClock()
      return under(clock, await place.empty({ clock }))
    },
    reopen: async (store) => under(clockOf(store), place.store({ clock: clockOf(store) })),
    second: async (store) => under(clockOf(store), place.store({ clock: clockOf(store) })),
    limitsRecords: true,
    loss: 'lease',
    sharesDeltas: true,
    exceptions: [
      // On a server of its own: growth.test.ts.
      'S54: the bytes of a commit after 1,000 others are those after 20',
    ],
  })
})
