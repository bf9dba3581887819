import { afterEach } from 'vitest'
import { findRedis } from './redis/find-redis.ts'
import { startRedis } from './redis/start-redis.ts'
import type { RedisConfig, RedisServer } from './redis/start-redis.ts'

/** In CI a missing server throws here, so that the job fails. */
const binary = findRedis()

/** There is no server that a test could start: what needs one is skipped. */
export const isRedisMissing = binary === undefined

/** Returns the title of a test or suite, which says why it is skipped. */
export function titleWithRedis(name: string): string {
  return isRedisMissing ? `${name} (skipped: there is no Redis server; install redis-server or name one in REDIS_SERVER)` : name
}

/** Returns how to start servers, which are stopped after each test. */
export function redisServers(): (config?: RedisConfig) => Promise<RedisServer> {
  const started: RedisServer[] = []
  afterEach(async () => {
    for (const server of started.splice(0)) await server.stop()
  })
  return async (config) => {
    const server = await startRedis(binary ?? '', config)
    started.push(server)
    return server
  }
}
