import { testPlacement } from '@bowline/testing/placement'
import { describe, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { sharedStores } from '../../../sessions/test/crash/shared-stores.ts'
import { InProcessHost } from './in-process-host.ts'

testPlacement({
  name: 'in process, over Postgres',
  host: ({ clock }) => new InProcessHost(clock),
  store: sharedStores(postgresPlace()),
  time: 'simulated',
  programs: rounds({ short: 2, long: 30 }),
  runner: { describe, it },
})
