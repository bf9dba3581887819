import { rounds } from '../../../../scripts/test-length.ts'
import { postgresPlace, ServerClock } from '../../../postgres/test/place.ts'
import { explore } from './explore.ts'

const place = postgresPlace()

explore('the Postgres store', {
  // A program takes a second here and a tenth on other stores.
  programs: rounds({ short: 6, long: 2_000 }),
  firstSeed: 80_001,
  perTest: 2,
  async store() {
    await place.clear()
    const clock = new ServerClock()
    return clock.under(place.store({ ...place.shared(false), clock, migrate: false }))
  },
})
