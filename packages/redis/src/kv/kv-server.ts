import type { Redis } from '@upstash/redis'
import { missingPeer, SessionError } from '@bowline/sessions/store-parts'
import type { ScriptServer } from '../redis/script-server.ts'
import type { Script } from '../redis/scripts.ts'
import { CommandFailed } from './kv-errors.ts'
import type { KvRequests } from './kv-requests.ts'

export interface KvServerOptions {
  readonly requests: KvRequests
  readonly maxRequestBytes: number
}

/** Runs scripts over HTTP: one request each, two if the service does not have the script yet. */
export class KvServer implements ScriptServer {
  readonly name = 'The KV service'
  readonly #options: KvServerOptions
  readonly #executed = new Set<Script>()
  #client: Promise<Redis> | undefined
  #losses = 0
  #closed = false

  constructor(options: KvServerOptions) {
    this.#options = options
  }

  get losses(): number {
    return this.#losses
  }

  async open(): Promise<void> {
    await this.#answered((client) => client.ping())
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    this.#checkSize(script, keys, args)
    return this.#answered((client) => this.#execute(client, script, [...keys], [...args]))
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  async #answered<T>(ask: (client: Redis) => Promise<T>): Promise<T> {
    if (this.#closed) throw new SessionError('store-unavailable', 'The KV state store is closed. Create another one.')
    this.#client ??= loadUpstash().then((Client) => new Client(this.#options.requests))
    try {
      return await ask(await this.#client)
    } catch (error) {
      throw error instanceof CommandFailed ? error.toSessionError() : error
    }
  }

  async #execute(client: Redis, script: Script, keys: string[], args: string[]): Promise<unknown> {
    try {
      return await client.evalsha(script.sha, keys, args)
    } catch (error) {
      if (!(error instanceof CommandFailed) || !error.isUnknownScript) throw error
      if (this.#executed.has(script)) this.#losses++
      return await client.eval(script.text, keys, args)
    } finally {
      this.#executed.add(script)
    }
  }

  /** Throws `entry-too-large`. Counts the text of the script, which may have to be sent too. */
  #checkSize({ text }: Script, keys: readonly string[], args: readonly string[]): void {
    const { maxRequestBytes } = this.#options
    const bytes = Buffer.byteLength(JSON.stringify(['eval', text, keys.length, ...keys, ...args]))
    if (bytes <= maxRequestBytes) return
    throw new SessionError(
      'entry-too-large',
      `A request to the KV service must have at most ${maxRequestBytes} bytes; this one has ${bytes}. Store less in the record.`,
    )
  }
}

/** Loads the package `@upstash/redis`, an optional peer. */
async function loadUpstash(): Promise<typeof Redis> {
  return (await import('@upstash/redis').catch(missingPeer('kvStateStore', '@upstash/redis'))).Redis
}
