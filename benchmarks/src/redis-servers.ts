import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { findRedis } from '../../scripts/redis/find-redis.ts'
import { startRedis } from '../../scripts/redis/start-redis.ts'

/** Redis server, and a KV server on it. */
export interface RedisServers {
  readonly redisUrl: string
  readonly kv: { readonly url: string; readonly token: string }
}

/** Starts both servers for this work and ends them afterwards. The append-only file is flushed each second. */
export async function withRedis<T>(work: (servers: RedisServers) => Promise<T>): Promise<T> {
  const binary = findRedis()
  if (binary === undefined) throw new Error('There is no Redis server: install redis-server, or name one in REDIS_SERVER')
  const server = await startRedis(binary, { appendfsync: 'everysec' })
  const thread = new Worker(new URL('kv-server-thread.ts', import.meta.url), { workerData: server.url })
  try {
    const [kv] = (await once(thread, 'message')) as [RedisServers['kv']]
    return await work({ redisUrl: server.url, kv })
  } finally {
    await thread.terminate()
    await server.stop()
  }
}
