import { testPlacement } from '@bowline/testing/placement'
import { Redis } from 'ioredis'
import { describe, it } from 'vitest'
import { isRedisMissing, sharedRedis, titleWithRedis } from '../../scripts/redis.ts'
import { rounds, testSeed } from '../../scripts/test-length.ts'
import { bullHost } from '../own-host/host.ts'

describe.skipIf(isRedisMissing)(titleWithRedis('own-host'), () => {
  const redis = sharedRedis()

  testPlacement({
    name: 'BullMQ',
    programs: rounds({ short: 3, long: 200 }),
    seed: testSeed,
    // BullMQ notices a dead worker after two of its checks. The lease has ended by then.
    withinMs: 10_000,
    runner: { describe, it },
    host({ program: name }) {
      const members = new Set<() => Promise<void>>()
      return {
        addWorker(runtime) {
          const connection = new Redis(redis.url, { maxRetriesPerRequest: null })
          const host = bullHost(runtime, { connection, name, turnMs: 1_500, frozenAfterMs: 2_000, onError: () => undefined })
          const worker = host.work()
          const stop = async (): Promise<void> => {
            members.delete(stop)
            await host.stop()
            connection.disconnect()
          }
          members.add(stop)
          return {
            stop,
            async kill() {
              members.delete(stop)
              await worker.close(true)
              connection.disconnect()
            },
          }
        },
        stop: async () => void (await Promise.all([...members].map((stop) => stop()))),
      }
    },
  })
})
