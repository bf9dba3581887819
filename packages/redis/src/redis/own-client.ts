import type { Clock } from '@bowline/llm'
import { SessionError } from '@bowline/sessions/store-parts'
import { answeredUntil, waitUntil } from './answered.ts'
import type { ServerCheck } from './check-server.ts'
import type { ClientSource, RedisClient } from './client.ts'
import { loadRedis } from './load-redis.ts'
import { isMistake, replyCode, replyError } from './reply-errors.ts'
import { LostAnswer } from './script-server.ts'

export interface OwnClientOptions {
  readonly url: string
  readonly timeoutMs: number
  readonly clock: Clock
  readonly check: ServerCheck
}

interface OwnedClient extends RedisClient {
  readonly isReady: boolean
  close(): Promise<void>
  destroy(): void
}

const shortestWaitMs = 25
const longestWaitMs = 2_000

/**
 * One connection, opened on demand. If it is lost, the next call reopens it after a wait that doubles with each failure. An idle
 * connection does not keep the process alive.
 */
export class OwnClient implements ClientSource {
  readonly #options: OwnClientOptions
  #client: OwnedClient | undefined
  #opening: Promise<OwnedClient> | undefined
  #failures = 0
  #lastFailure = unreachable()
  #retryAt = 0
  #closed = false

  constructor(options: OwnClientOptions) {
    this.#options = options
  }

  async ready(untilMs: number): Promise<RedisClient> {
    const { clock } = this.#options
    for (;;) {
      if (this.#closed) throw new SessionError('store-unavailable', 'The Redis state store is closed. Create another one.')
      if (this.#client?.isReady) return this.#client
      if (this.#retryAt > clock.now()) await waitUntil(clock, Math.min(this.#retryAt, untilMs))
      if (clock.now() >= untilMs) throw this.#lastFailure
      try {
        return await answeredUntil(clock, untilMs, (this.#opening ??= this.#open()))
      } catch (error) {
        if (!isPassing(error)) throw error
      }
    }
  }

  drop(client: RedisClient): void {
    if (client !== this.#client) return
    this.#client.destroy()
    this.#client = undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    const client = this.#client
    this.#client = undefined
    if (!client?.isOpen) return
    const { clock, timeoutMs } = this.#options
    // Waits for calls in progress.
    await answeredUntil(clock, clock.now() + timeoutMs, client.close()).catch(() => client.destroy())
  }

  async #open(): Promise<OwnedClient> {
    try {
      const client = await this.#connect()
      this.#failures = 0
      this.#client = client
      // The store may have been closed meanwhile.
      if (this.#closed) await this.close()
      return client
    } catch (error) {
      const waitMs = Math.min(longestWaitMs, shortestWaitMs * 2 ** this.#failures++)
      this.#retryAt = this.#options.clock.now() + waitMs * (0.5 + Math.random() / 2)
      if (isMistake(error)) throw error
      this.#lastFailure = connectionError(error)
      throw this.#lastFailure
    } finally {
      this.#opening = undefined
    }
  }

  async #connect(): Promise<OwnedClient> {
    const { url, timeoutMs, clock, check } = this.#options
    const { createClient } = await loadRedis('redisStateStore')
    const client = createClient({
      url,
      // Each call has its own deadline, and this class reconnects.
      disableOfflineQueue: true,
      commandOptions: { timeout: 0 },
      maintNotifications: 'disabled',
      socket: { connectTimeout: timeoutMs, reconnectStrategy: false },
    })
    // Without a listener, an error ends the process. The failing call reports it.
    client.on('error', () => undefined)
    client.unref()
    try {
      await answeredUntil(
        clock,
        clock.now() + timeoutMs,
        client.connect().then(() => check.run(client)),
      )
      return client
    } catch (error) {
      client.destroy()
      throw error
    }
  }
}

function connectionError(error: unknown): SessionError {
  if (SessionError.isInstance(error)) return error
  const code = replyCode(error)
  return code === undefined ? unreachable((error as NodeJS.ErrnoException).code) : replyError('Redis', code)
}

/** Shows the code only: the error text may contain the address. */
export function unreachable(code?: string): SessionError {
  return new SessionError(
    'store-unavailable',
    `Redis cannot be reached${code === undefined ? '' : ` (${code})`}. Start it, or correct its URL.`,
  )
}

/** True if a retry may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof LostAnswer || (SessionError.isInstance(error) && error.code === 'store-unavailable')
}
