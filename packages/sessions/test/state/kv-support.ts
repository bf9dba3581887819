import type { OpenableStateStore } from '@bowline/sessions'
import { kvStateStore, type KvStateStoreOptions } from '@bowline/sessions/kv'
import { startKvServer, type KvServer } from '@bowline/testing/stores'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { SharedRedis } from '../../../../scripts/redis.ts'
import { newPrefix } from './redis-support.ts'

/** A KV server shared by the tests of a file. */
export interface SharedKv {
  /** Undefined outside hooks and tests. */
  readonly server: KvServer
  open(options?: KvStateStoreOptions): OpenableStateStore
}

/** Starts a KV server on this Redis before the tests of this file, and stops it after them. */
export function sharedKv(redis: SharedRedis): SharedKv {
  let server: KvServer
  const opened: OpenableStateStore[] = []
  beforeAll(async () => {
    server = await startKvServer({ redisUrl: redis.url, maxRequestBytes: 100_000 })
  })
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close()
  })
  afterAll(() => server.close())
  return {
    get server() {
      return server
    },
    open(options = {}) {
      const { url, token } = server
      const store = kvStateStore({ url, token, prefix: newPrefix(), ...options })
      opened.push(store)
      return store
    },
  }
}
