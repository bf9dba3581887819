import { stateRateLimiter, type CreateRateLimiter } from '@bowline/server'
import { flexibleRateLimiter } from '@bowline/server/rate-limits'
import { stateStoreFromEnv } from '@bowline/sessions/env'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { createClient } from 'redis'

export interface SharedLimiter {
  readonly create: CreateRateLimiter
  close(): Promise<unknown>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Opens a limiter with its own connection to the server that the environment names. */
export async function openLimiter(kind: 'library' | 'state', environment: Environment): Promise<SharedLimiter> {
  if (kind === 'state') {
    const { store } = await stateStoreFromEnv({ environment })
    return { create: stateRateLimiter(store), close: () => store.close() }
  }
  const storeClient = await createClient({ url: environment['REDIS_URL'] ?? '' }).connect()
  return {
    create: flexibleRateLimiter((options) => new RateLimiterRedis({ storeClient, useRedisPackage: true, ...options })),
    close: () => storeClient.close(),
  }
}
