import { createHash } from 'node:crypto'
import { columnTypes } from '@bowline/sessions/sql'
import { isLost, isPassing, storeError } from './postgres-errors.ts'
import type { Pool, PooledClient } from './pool.ts'
import { longestAnswerMs } from './pool.ts'
import type { PostgresQuery, PostgresResult } from './pool-types.ts'

/** Attempts of statements that meet deadlocks, and of reads whose connection is lost. */
const mostTries = { passing: 10, lost: 3 }
const longestPauseMs = 50

/** Answers to statements that were sent together. */
export interface Sent {
  readonly results: readonly PostgresResult[]
  /** First failure, and the place of its statement. */
  readonly error: unknown
  readonly failedAt: number
}

const nothingSent: Sent = { results: [], error: undefined, failedAt: -1 }

/** Sends statements on connections of a pool, without waiting for the answers to earlier ones. */
export class Pipeline {
  readonly #pool: Pool
  readonly #nameOf: (text: string) => string | undefined

  constructor(pool: Pool) {
    this.#pool = pool
    this.#nameOf = statementNames(pool)
  }

  /** Returns a statement that each connection prepares once. */
  query(text: string, values: readonly unknown[]): PostgresQuery {
    const name = this.#nameOf(text)
    return { ...command(text), types: columnTypes, values: [...values], ...(name !== undefined && { name }) }
  }

  /** Repeats the reads after a deadlock or on another connection. Throws errors of the store. */
  async read(queries: readonly PostgresQuery[]): Promise<readonly PostgresResult[]> {
    const tries = { passing: 0, lost: 0 }
    for (;;) {
      const [{ error, results } = nothingSent] = await this.#send([queries])
      if (error === undefined) return results
      const kind = isPassing(error) ? 'passing' : 'lost'
      if ((kind === 'lost' && !isLost(error)) || ++tries[kind] >= mostTries[kind]) throw storeError(error, 'read')
      if (kind === 'passing') await pause(tries.passing)
    }
  }

  /**
   * Takes one round trip for all groups. Each group has its own first failure. A group that meets a deadlock is repeated alone after
   * the others. Without an answer, or if a transaction could not begin, the outcome of a group is unknown.
   */
  async write(groups: readonly (readonly PostgresQuery[])[]): Promise<readonly Sent[]> {
    const all: Sent[] = []
    for (const [at, first] of (await this.#send(groups)).entries()) {
      let sent = first
      const group = groups[at] ?? []
      for (let tries = 1; isPassing(sent.error) && !hasNotBegun(sent, group) && tries < mostTries.passing; tries++) {
        await pause(tries)
        sent = (await this.#send([group]))[0] ?? sent
      }
      all.push(sent)
    }
    return all
  }

  async #send(groups: readonly (readonly PostgresQuery[])[]): Promise<readonly Sent[]> {
    if (groups.flat().length === 0) return groups.map(() => nothingSent)
    const client = await this.#pool.acquire()
    const query = preparingOnce(client)
    const sent = await Promise.all(
      groups.map(async (queries) => {
        const answers = await Promise.allSettled(queries.map(query))
        // The transaction of a commit that failed is still open.
        if (queries.at(-1)?.text === 'commit' && answers.at(-1)?.status === 'rejected')
          await client.query(command('rollback')).catch(() => undefined)
        const results = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
        const failedAt = answers.findIndex((answer) => answer.status === 'rejected')
        const failed = answers[failedAt]
        return { results, failedAt, error: failed?.status === 'rejected' ? (failed.reason as unknown) : undefined }
      }),
    )
    client.release(sent.some(({ error }) => isLost(error)))
    return sent
  }
}

/** The server has executed the other statements of this transaction, each by itself. */
function hasNotBegun({ failedAt }: Sent, { length }: readonly PostgresQuery[]): boolean {
  return failedAt === 0 && length > 1
}

/**
 * A statement that is new to a connection is prepared by its first use. If that fails together with its transaction, others of the same
 * name would fail too: they are sent without the name.
 */
function preparingOnce(client: PooledClient): (query: PostgresQuery) => Promise<PostgresResult> {
  const used = new Set<string>()
  return ({ name, ...query }) => {
    if (name === undefined || (used.has(name) && !client.isPrepared(name))) return client.query(query)
    used.add(name)
    return client.query({ name, ...query })
  }
}

/** Returns a statement without values. */
export function command(text: string): PostgresQuery {
  return { text, query_timeout: longestAnswerMs }
}

/** Waits for a random time, so that transactions that collided do not collide again. */
function pause(tries: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(longestPauseMs, 2 ** tries)))
}

/**
 * Returns the names of prepared statements. A name is undefined if statements cannot be prepared: each transaction may get another
 * connection of the server.
 */
function statementNames(pool: Pool): (text: string) => string | undefined {
  const names = new Map<string, string>()
  return (text) => {
    if (!pool.canPrepare) return undefined
    const name = names.get(text) ?? createHash('sha256').update(text).digest('base64url').slice(0, 20)
    names.set(text, name)
    return name
  }
}
