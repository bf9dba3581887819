import type { Call, CompiledStatement } from '@bowline/sessions/sql'
import { boundValue, boundValues, columnTypes } from '@bowline/sessions/sql'
import { isLost } from './postgres-errors.ts'
import type { PostgresClient, PostgresQuery, PostgresResult } from './pool-types.ts'

/** Compiled and prepared statements of a connection. */
export interface Statements {
  /** Compiles a statement once. */
  compiled(call: Call): CompiledStatement
  /**
   * Name of the prepared statement. Undefined if statements cannot be prepared: each transaction may get another connection of the
   * server.
   */
  nameOf(text: string): string | undefined
}

/** Timeout in ms. If the server has not answered by then, the connection is dropped. */
export const longestAnswerMs = 30_000

/**
 * One use of a pooled connection, from acquire to release. Sends statements without waiting for earlier answers. Keeps the first
 * failure: later statements fail because of it.
 */
export class Flight {
  readonly #client: PostgresClient
  readonly #statements: Statements
  readonly #onError = (error: Error): void => this.#fail(error)
  #failure: Error | undefined
  #last: Promise<PostgresResult | undefined> = Promise.resolve(undefined)

  constructor(client: PostgresClient, statements: Statements) {
    this.#client = client
    this.#statements = statements
    client.on('error', this.#onError)
  }

  /** Throws the first failure so far, if any. */
  check(): void {
    if (this.#failure) throw this.#failure
  }

  /** Clears the failure after the caller has handled it. */
  forget(): void {
    this.#failure = undefined
  }

  command(text: string): void {
    void this.#send({ text })
  }

  write(call: Call): void {
    void this.#send(this.#query(call))
  }

  /** Returns the rows of these reads, in one round trip with everything sent before. */
  async read(calls: readonly Call[]): Promise<readonly (readonly unknown[])[]> {
    const results = calls.map((call, place) =>
      this.#send({ ...this.#query(call), ...(place === calls.length - 1 && { query_timeout: longestAnswerMs }) }),
    )
    const answers = await Promise.all(results)
    this.check()
    return answers.map((answer) => answer?.rows ?? [])
  }

  /** Waits until everything sent is answered. */
  async settle(): Promise<void> {
    await this.#last
    this.check()
  }

  /** Sends the last command and resolves with the executed one: `ROLLBACK` if an earlier statement failed. */
  async end(text: string): Promise<string | null | undefined> {
    const result = await this.#send({ text, query_timeout: longestAnswerMs })
    return result?.command
  }

  /** Returns the connection to the pool if `isClean` and it is not lost; otherwise destroys it. */
  release(isClean: boolean): void {
    this.#client.removeListener('error', this.#onError)
    this.#client.release(!isClean || isLost(this.#failure))
  }

  /** Resolves with undefined if it fails. */
  #send(query: PostgresQuery): Promise<PostgresResult | undefined> {
    const sent = this.#client.query(query).catch((error: unknown) => {
      this.#fail(error)
      return undefined
    })
    this.#last = sent
    return sent
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new TypeError('A statement failed with a value that is not an error.')
  }

  #query(call: Call): PostgresQuery {
    const compiled = this.#statements.compiled(call)
    const name = this.#statements.nameOf(compiled.sql)
    return {
      text: compiled.sql,
      values: boundValues(compiled, call.values).map(boundValue),
      types: columnTypes,
      ...(name !== undefined && { name }),
    }
  }
}
