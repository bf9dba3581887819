import { testStateStore, type StateKitOptions } from '@bowline/testing/stores'
import { describe, expect, it } from 'vitest'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import { plantedFaults } from '../../sessions/test/state/broken-stores.ts'
import { runKit } from '../../sessions/test/state/kit-failures.ts'
import { sharedKv } from './kv-support.ts'
import { newPrefix } from './redis-support.ts'
import { stateProcess } from '../../sessions/test/state/state-process-handle.ts'

describe.skipIf(isRedisUrlMissing)(titleWithRedis('kv', isRedisUrlMissing), () => {
  const kv = sharedKv(sharedRedis())
  const elsewhere = stateProcess()
  let prefix = ''
  const kit: StateKitOptions = {
    name: 'kv',
    create: async (clock) => kv.open({ clock, prefix: (prefix = newPrefix()) }),
    reopen: async (_store, clock) => kv.open({ clock, prefix }),
    second: async (_store, clock) => kv.open({ clock, prefix }),
    runner: { describe, it },
  }

  testStateStore(kit)
  testStateStore({
    ...kit,
    name: 'kv, from two processes',
    second: async (_store, clock) => elsewhere({ kind: 'kv', url: kv.server.url, token: kv.server.token, prefix }, clock),
  })

  it.each(plantedFaults)('O67, O70: the kit detects a store that $fault', async ({ caughtBy, breaks }) => {
    const { failures } = await runKit(async (clock) => breaks(kv.open({ clock })), caughtBy)
    expect(failures.length).toBeGreaterThan(0)
  })
})
