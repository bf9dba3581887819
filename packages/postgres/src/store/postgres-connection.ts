import type { CompiledStatement, Database, Request, SqlDialect, Statement, Steps } from '@bowline/sessions/sql'
import { compileStatement } from '@bowline/sessions/sql'
import { Flight } from './flight.ts'
import type { Statements } from './flight.ts'
import type { Pool } from './pool.ts'
import { statementNames } from './statement-names.ts'
import { isLockTimeout, isLost, isPassing, violatesConstraint } from './postgres-errors.ts'

const usualLockWaitMs = 20_000

/** Limits in ms: the server ends an idle transaction after the first, and a wait for locked rows after the second. */
export function beginWrite(lockWaitMs = usualLockWaitMs): string {
  return `begin isolation level read committed; set local idle_in_transaction_session_timeout = 10000; set local lock_timeout = ${lockWaitMs}`
}

const beginRead = 'begin isolation level repeatable read read only'

/** Attempts after a deadlock, and after a connection that was lost before the commit was sent. */
const mostTries = { passing: 10, lost: 3 }
const longestPauseMs = 50

/** The result of a commit is unknown: its answer was lost. */
class LostCommit extends Error {
  constructor(cause: unknown) {
    super('The answer to a commit was lost.', { cause })
  }
}

/**
 * Runs steps on a connection of a pool. Writes are sent without waiting for their answers, so a transaction takes one round trip
 * per group of reads and one more. If a write violates a constraint, the transaction is rolled back and the steps run again with a
 * wait after each: then they fail at the same step as on any other database.
 */
export class PostgresConnection {
  readonly #pool: Pool
  readonly #statements: Statements

  /** `builder` only builds statements. */
  constructor(pool: Pool, builder: Database, dialect: SqlDialect) {
    this.#pool = pool
    const forms = new WeakMap<Statement<object, unknown>, Map<string, CompiledStatement>>()
    this.#statements = {
      compiled({ statement, values }) {
        const known = forms.get(statement) ?? new Map<string, CompiledStatement>()
        forms.set(statement, known)
        const only = listsOfOne(values)
        const name = only.join()
        const form = known.get(name) ?? compileStatement(statement, builder, dialect, only)
        known.set(name, form)
        return form
      },
      nameOf: statementNames(pool),
    }
  }

  /**
   * Runs the steps as one transaction, which is rolled back if anything throws. If the answer of the commit is lost, the outcome is
   * unknown.
   */
  transaction<T>(makeSteps: () => Steps<T>, lockWaitMs = usualLockWaitMs): Promise<T> {
    let isCareful = false
    return this.#withRetries(async () => {
      try {
        return await this.#transactOnce(makeSteps, lockWaitMs, isCareful)
      } catch (error) {
        if (isCareful || !violatesConstraint(error)) throw error
        isCareful = true
        return this.#transactOnce(makeSteps, lockWaitMs, isCareful)
      }
    })
  }

  /** Runs each statement by itself. Does not retry after a lost answer: the write may have been made. */
  statement<T>(makeSteps: () => Steps<T>): Promise<T> {
    return this.#withRetries(
      () => this.#fly((flight) => walk(flight, makeSteps())),
      (error) => isPassing(error),
    )
  }

  /** Runs reads on one snapshot. */
  snapshot<T>(makeSteps: () => Steps<T>): Promise<T> {
    return this.#withRetries(() =>
      this.#fly(async (flight) => {
        flight.command(beginRead)
        try {
          return await walk(flight, makeSteps())
        } finally {
          // Unlike a command, it must be answered in time: the connection is returned after it.
          void flight.end('commit')
        }
      }),
    )
  }

  read<T>(makeSteps: () => Steps<T>): Promise<T> {
    return this.#withRetries(() => this.#fly((flight) => walk(flight, makeSteps())))
  }

  async #transactOnce<T>(makeSteps: () => Steps<T>, lockWaitMs: number, isCareful: boolean): Promise<T> {
    const flight = new Flight(await this.#pool.acquire(), this.#statements)
    let result: T
    try {
      flight.command(beginWrite(lockWaitMs))
      const steps = makeSteps()
      result = await (isCareful ? walkCarefully(flight, steps) : walk(flight, steps))
    } catch (error) {
      const takenBack = takeBack(flight)
      // Waits for the rollback before a retry, which must not meet its own locks: a claim skips locked rows. Other callers need not
      // wait.
      if (isPassing(error) || isLockTimeout(error)) await takenBack
      throw error
    }
    return commit(flight, result)
  }

  /** Returns the connection once everything is answered. The result does not wait for that. */
  async #fly<T>(work: (flight: Flight) => Promise<T>): Promise<T> {
    const flight = new Flight(await this.#pool.acquire(), this.#statements)
    try {
      return await work(flight)
    } finally {
      void flight.settle().then(
        () => flight.release(true),
        () => flight.release(true),
      )
    }
  }

  async #withRetries<T>(attempt: () => Promise<T>, mayRepeat: (error: unknown) => boolean = () => true): Promise<T> {
    const tries = { passing: 0, lost: 0 }
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        const kind = isPassing(error) ? 'passing' : isLost(error) && !(error instanceof LostCommit) ? 'lost' : undefined
        if (kind === undefined || !mayRepeat(error) || ++tries[kind] >= mostTries[kind])
          throw error instanceof LostCommit ? error.cause : error
        if (kind === 'passing') await pause(tries.passing)
      }
    }
  }
}

function listsOfOne(values: object): readonly string[] {
  return Object.entries(values).flatMap(([slot, value]) => (Array.isArray(value) && value.length === 1 ? [slot] : []))
}

/** Waits for a random time, so that transactions that collided do not collide again. */
export function pause(tries: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(longestPauseMs, 2 ** tries)))
}

async function walk<T>(flight: Flight, steps: Steps<T>): Promise<T> {
  let step = steps.next([])
  while (!step.done) {
    if ('write' in step.value) {
      flight.write(step.value.write)
      step = steps.next([])
    } else {
      step = steps.next(await flight.read(step.value.reads))
    }
  }
  return step.value
}

/** Waits after each statement, so that a failure throws at the step that sent it. */
async function walkCarefully<T>(flight: Flight, steps: Steps<T>): Promise<T> {
  let step = steps.next([])
  while (!step.done) step = await answer(flight, steps, step.value)
  return step.value
}

async function answer<T>(flight: Flight, steps: Steps<T>, request: Request): Promise<IteratorResult<Request, T>> {
  let answers: readonly (readonly unknown[])[]
  try {
    answers = await flight.read('write' in request ? [request.write] : request.reads)
  } catch (error) {
    // The next steps may succeed, for instance a rollback to a savepoint.
    flight.forget()
    return steps.throw(error)
  }
  return steps.next(answers)
}

async function commit<T>(flight: Flight, result: T): Promise<T> {
  const done = await flight.end('commit')
  try {
    flight.check()
  } catch (error) {
    void takeBack(flight)
    // Without an answer the outcome is unknown.
    throw isLost(error) ? new LostCommit(error) : error
  }
  flight.release(true)
  if (done !== 'COMMIT') throw new TypeError(`Postgres answered a commit with ${String(done)}.`)
  return result
}

async function takeBack(flight: Flight): Promise<void> {
  flight.forget()
  await flight.end('rollback')
  flight.release(true)
}
