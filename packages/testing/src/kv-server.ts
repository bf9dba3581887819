import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type * as redis from 'redis'
import { SessionError } from '@bowline/sessions'
import { checkKvServer } from './check-options.ts'
import { answerRequest } from './kv-server/answer-request.ts'
import { commandsOf, type CommandClient } from './kv-server/commands.ts'
import type { KvFault, KvServerOptions } from './kv-server/types.ts'

const reconnectMs = 20

/** A running KV server for tests. */
export interface KvServer {
  readonly url: string
  readonly token: string
  /** The command of each request, or the command names of a pipeline. */
  readonly requests: readonly string[]
  /** Applies these faults to the next requests, one each. */
  fail(...faults: readonly KvFault[]): void
  close(): Promise<void>
}

/**
 * Starts a server on loopback with the REST protocol of Vercel KV and Upstash Redis, over a real Redis: `POST /` with one
 * command, `POST /pipeline` with several, a bearer token, and base64 texts on request. Needs the package `redis`.
 */
export async function startKvServer(options: KvServerOptions): Promise<KvServer> {
  checkKvServer('startKvServer.options', options)
  const { redisUrl, token = randomBytes(24).toString('base64url'), maxRequestBytes = 10_000_000 } = options
  const redis = await connect(redisUrl)
  const requests: string[] = []
  const faults: KvFault[] = []
  const parts = { token, maxRequestBytes, redis: commandsOf(redis), requests, nextFault: () => faults.shift() }
  const server = createServer((request, response) => void answerRequest(parts, request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    requests,
    fail: (...next) => void faults.push(...next),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      redis.destroy()
    },
  }
}

/** Connects. A lost connection is reopened; until then commands fail at once. */
async function connect(url: string): Promise<CommandClient & { destroy(): void }> {
  const { createClient } = await loadRedis()
  let wasReady = false
  const client = createClient({ url, disableOfflineQueue: true, socket: { reconnectStrategy: () => (wasReady ? reconnectMs : false) } })
  client.on('error', () => undefined)
  client.on('ready', () => (wasReady = true))
  try {
    await client.connect()
    return client
  } catch {
    client.destroy()
    throw new SessionError('store-unavailable', 'The Redis server at redisUrl cannot be reached. Start it, or correct the URL.')
  }
}

/** Loads the package `redis`, an optional peer. */
async function loadRedis(): Promise<Pick<typeof redis, 'createClient'>> {
  try {
    // A bundled package has a default export only.
    return (await import('redis')).default
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SessionError('invalid-config', 'startKvServer needs the package redis; run: npm install redis', { cause: error })
  }
}
