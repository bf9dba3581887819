import type { Clock } from '@bowline/llm'
import { SessionError } from '@bowline/sessions/store-parts'
import { answeredUntil } from './answered.ts'
import type { ServerCheck } from './check-server.ts'
import type { ClientSource, RedisClient } from './client.ts'
import { unreachable } from './own-client.ts'
import { isMistake } from './reply-errors.ts'

export interface GivenClientOptions {
  readonly client: RedisClient
  readonly clock: Clock
  readonly check: ServerCheck
}

/** Client or cluster of the user, who closes it. It reconnects as it is configured. */
export class GivenClient implements ClientSource {
  readonly #options: GivenClientOptions
  #checked: Promise<void> | undefined
  #closed = false

  constructor(options: GivenClientOptions) {
    this.#options = options
    // Without a listener, a lost connection ends the process.
    options.client.on('error', () => undefined)
  }

  async ready(untilMs: number): Promise<RedisClient> {
    if (this.#closed) throw new SessionError('store-unavailable', 'The Redis state store is closed. Create another one.')
    const { client, clock } = this.#options
    try {
      await answeredUntil(clock, untilMs, (this.#checked ??= this.#check()))
      return client
    } catch (error) {
      if (SessionError.isInstance(error) || isMistake(error)) throw error
      throw unreachable((error as NodeJS.ErrnoException).code)
    }
  }

  drop(): void {
    this.#checked = undefined
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  async #check(): Promise<void> {
    const { client, check } = this.#options
    try {
      if (!client.isOpen) await client.connect()
      await check.run(client)
    } catch (error) {
      this.#checked = undefined
      throw error
    }
  }
}
