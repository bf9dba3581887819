import { randomUUID } from 'node:crypto'
import type { OpenableStateStore } from '@bowline/sessions'
import { redisStateStore, type RedisStateStoreOptions } from '@bowline/redis'
import { createClient } from 'redis'
import { afterAll, afterEach } from 'vitest'

/** Returns a prefix that no other test uses, for a server that may be shared. */
export function newPrefix(): string {
  return `test-${randomUUID()}`
}

/** Opens stores and closes them after each test. An unexpected warning fails the test. */
export function redisStores(urlOf: () => string): (options?: RedisStateStoreOptions) => OpenableStateStore {
  const opened: OpenableStateStore[] = []
  const prefixes = new Set<string>()
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close()
  })
  afterAll(async () => {
    if (process.env['TEST_REDIS_URL']) await removeAll(urlOf(), [...prefixes])
  })
  return (options = {}) => {
    const { prefix = newPrefix() } = options
    prefixes.add(prefix)
    const store = redisStateStore({ onWarning: unexpected, ...(options.client ? {} : { url: urlOf() }), ...options, prefix })
    opened.push(store)
    return store
  }
}

function unexpected(message: string): void {
  throw new Error(message)
}

async function removeAll(url: string, prefixes: readonly string[]): Promise<void> {
  const client = await createClient({ url }).connect()
  for (const prefix of prefixes) {
    for await (const keys of client.scanIterator({ MATCH: `${prefix}:*` })) if (keys.length > 0) await client.unlink(keys)
  }
  await client.close()
}
