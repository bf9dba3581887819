import { testStateStore, type StateKitOptions } from '@bowline/testing/stores'
import { describe, expect, it } from 'vitest'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import { plantedFaults } from '../../sessions/test/state/broken-stores.ts'
import { runKit } from '../../sessions/test/state/kit-failures.ts'
import { newPrefix, redisStores } from './redis-support.ts'
import { stateProcess } from '../../sessions/test/state/state-process-handle.ts'

describe.skipIf(isRedisUrlMissing)(titleWithRedis('redis', isRedisUrlMissing), () => {
  const server = sharedRedis()
  const open = redisStores(() => server.url)
  const elsewhere = stateProcess()
  let prefix = ''
  const kit: StateKitOptions = {
    name: 'redis',
    create: async (clock) => open({ clock, prefix: (prefix = newPrefix()) }),
    reopen: async (_store, clock) => open({ clock, prefix }),
    second: async (_store, clock) => open({ clock, prefix }),
    runner: { describe, it },
  }

  testStateStore(kit)
  testStateStore({
    ...kit,
    name: 'redis, from two processes',
    second: async (_store, clock) => elsewhere({ kind: 'redis', url: server.url, prefix }, clock),
  })

  it('O67, O70: the kit passes it, also without a second store', async () => {
    expect(await runKit(kit.create)).toMatchObject({ failures: [] })
  })

  it.each(plantedFaults)('O67, O70: the kit detects a store that $fault', async ({ caughtBy, breaks }) => {
    const { failures } = await runKit(async (clock) => breaks(open({ clock })), caughtBy)
    expect(failures.length).toBeGreaterThan(0)
  })
})
