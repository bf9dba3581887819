import { afterAll, afterEach, beforeAll } from 'vitest'
import { findRedis } from './redis/find-redis.ts'
import { startRedis } from './redis/start-redis.ts'
import type { RedisConfig, RedisServer } from './redis/start-redis.ts'

export type { RedisServer } from './redis/start-redis.ts'

/** In CI a missing server throws here, so that the job fails. */
const binary = findRedis()
const given = process.env['TEST_REDIS_URL']

/** True if there is no server to start: tests that need one are skipped. */
export const isRedisMissing = binary === undefined

/** True if there is no server at all. */
export const isRedisUrlMissing = isRedisMissing && given === undefined

/** Returns the title of a test or suite. If it is skipped, the title says why. */
export function titleWithRedis(name: string, isMissing = isRedisMissing): string {
  return isMissing ? `${name} (skipped: there is no Redis server; install redis-server or name one in REDIS_SERVER)` : name
}

/** Returns a function that starts a server. Servers are stopped after each test. */
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

/** A server that the tests of a file share. */
export interface SharedRedis {
  /** Address of the server. Throws outside hooks and tests. */
  readonly url: string
}

/** Returns the server of `TEST_REDIS_URL`, else one that is started before the tests of this file and stopped after them. */
export function sharedRedis(): SharedRedis {
  let url = given
  let server: RedisServer | undefined
  if (given === undefined && binary !== undefined) {
    beforeAll(async () => {
      server = await startRedis(binary)
      url = server.url
    })
    afterAll(() => server?.stop())
  }
  return {
    get url() {
      if (url === undefined) throw new TypeError('The Redis server is there in hooks and tests only.')
      return url
    },
  }
}
