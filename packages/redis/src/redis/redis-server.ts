import type { Clock } from '@bowline/llm'
import { answeredUntil } from './answered.ts'
import type { ClientSource, RedisClient, ScriptArguments } from './client.ts'
import { isMistake, replyCode, replyError } from './reply-errors.ts'
import { LostAnswer, type ScriptServer } from './script-server.ts'
import type { Script } from './scripts.ts'

export interface RedisServerOptions {
  readonly source: ClientSource
  readonly clock: Clock
  readonly timeoutMs: number
}

/** Runs scripts over a connection to Redis. */
export class RedisServer implements ScriptServer {
  readonly name = 'Redis'
  readonly #options: RedisServerOptions
  readonly #executed = new Set<Script>()
  #losses = 0

  constructor(options: RedisServerOptions) {
    this.#options = options
  }

  get losses(): number {
    return this.#losses
  }

  async open(): Promise<void> {
    await this.#options.source.ready(this.#deadline())
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const { source, clock } = this.#options
    const untilMs = this.#deadline()
    const client = await source.ready(untilMs)
    try {
      return await answeredUntil(clock, untilMs, this.#execute(client, script, { keys: [...keys], arguments: [...args] }))
    } catch (error) {
      if (isMistake(error)) throw error
      const code = replyCode(error)
      // A new connection finds the server that replaces a failed or demoted one.
      if (code === undefined || code === 'READONLY') source.drop(client)
      throw code === undefined ? new LostAnswer('The connection was lost.') : replyError(this.name, code)
    }
  }

  close(): Promise<void> {
    return this.#options.source.close()
  }

  async #execute(client: RedisClient, script: Script, given: ScriptArguments): Promise<unknown> {
    try {
      return await client.evalSha(script.sha, given)
    } catch (error) {
      if (replyCode(error) !== 'NOSCRIPT') throw error
      if (this.#executed.has(script)) this.#losses++
      return client.eval(script.text, given)
    } finally {
      this.#executed.add(script)
    }
  }

  #deadline(): number {
    return this.#options.clock.now() + this.#options.timeoutMs
  }
}
