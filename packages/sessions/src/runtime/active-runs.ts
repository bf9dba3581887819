import type { AbortCause } from '@bowline/agent-loop'
import type { Claim } from '../contract/session-store.ts'
import type { RunRecord, StopRequest } from '../contract/records.ts'
import { steadyStore } from '../contract/steady-store.ts'
import { executeRun, failureOf, type ExecutionOptions } from './execute-run.ts'
import type { Remainder, RunSignals } from './remainder.ts'
import { finalizeRun, endLostRun, giveBack, holdForDecision } from './recover.ts'
import type { AroundRun, RunExecution, RuntimeOptions } from './types.ts'

export interface ActiveRunsOptions extends ExecutionOptions, Pick<RuntimeOptions, 'aroundRun'> {
  /** Called after an execution has ended and its last records are written or given up. Must not throw. */
  readonly onRest: (run: ActiveRun, how: Leaving) => void
}

/**
 * State of a run when it leaves this process. `settled`: it has ended, and nothing is queued or waiting in its session.
 * `rested`: it waits, or has ended otherwise. `gave-back`: it is queued again. `lost`: it stays as it is until it is claimed as
 * lost.
 */
export type Leaving = 'settled' | 'rested' | 'gave-back' | 'lost'

export interface ActiveRun {
  readonly claim: Claim
  readonly abort: AbortController
  /** Aborted once this process can write nothing more for the run: another claim has it, or it is given back. */
  readonly over: AbortController
  readonly done: Promise<Leaving>
  /** Resolves when this execution has stored its first event or is over: until then the stored status is that of an earlier one. */
  readonly judged: Promise<void>
  /** End of the lease by the clock of this process. No other process can claim the run before. */
  heldUntil: number
  /** Heartbeats since the store last confirmed the lease. */
  unheardBeats: number
  /** True: the run yields before its next step. */
  isToYield: boolean
  /** True if something was queued in the session after the commit began that checks for queued work. */
  wasWoken: boolean
}

/**
 * Aborts a run whose lease may have ended. The run starts nothing more, but stores what it knows: that is refused if another
 * process has claimed it.
 */
export const leaseEnded: AbortCause = { kind: 'yield', reason: 'the lease of the run may have ended' }

/** Heartbeats to wait before each retry of writing the last records of a run. */
const beatsBetweenTries = [1, 2, 4, 8]

/** The runs that this process executes, from the claim until the last record is written. */
export class ActiveRuns {
  readonly #options: ActiveRunsOptions
  readonly #active = new Map<string, ActiveRun>()
  readonly #bySession = new Map<string, ActiveRun>()
  readonly #nextBeat: () => Promise<boolean>

  /** `nextBeat` resolves at the next heartbeat, with false if nothing may be written any more. */
  constructor(options: ActiveRunsOptions, nextBeat: () => Promise<boolean>) {
    this.#options = options
    this.#nextBeat = nextBeat
  }

  get size(): number {
    return this.#active.size
  }

  get(runId: string): ActiveRun | undefined {
    return this.#active.get(runId)
  }

  ofSession(key: string): ActiveRun | undefined {
    return this.#bySession.get(key)
  }

  /** Notes that something was queued in this session. Returns false if this process does not hold the session. */
  wake(key: string): boolean {
    const active = this.#bySession.get(key)
    if (active) active.wasWoken = true
    return active !== undefined
  }

  all(): readonly ActiveRun[] {
    return [...this.#active.values()]
  }

  begin(claim: Claim, heldUntil: number): ActiveRun {
    const { run } = claim
    const { live } = this.#options
    const abort = new AbortController()
    const over = new AbortController()
    if (run.stop) abort.abort(stopCause(run.stop))
    const letGo = live.hold(run.session)
    const signals: RunSignals = {
      abort,
      over: over.signal,
      onLastCommit: () => (active.wasWoken = false),
      beforeStep: () => {
        if (active.isToYield) abort.abort({ kind: 'yield' } satisfies AbortCause)
      },
    }
    const done = this.#execute(claim, signals).then((how) => {
      letGo()
      const current = this.#active.get(run.id) ?? active
      if (current === active) {
        this.#remove(active)
        live.endRun(run.session, run.id)
        this.#options.onRest(active, how)
      }
      return how
    })
    const judged = claim.previous === 'running' ? this.#firstEvent(run, done) : done.then(() => undefined)
    const active: ActiveRun = { claim, abort, over, heldUntil, unheardBeats: 0, isToYield: false, wasWoken: false, done, judged }
    this.#active.set(run.id, active)
    this.#bySession.set(run.session, active)
    return active
  }

  async #firstEvent({ id, session: key }: RunRecord, done: Promise<unknown>): Promise<void> {
    const { live } = this.#options
    const letGo = live.hold(key)
    const session = live.session(key)
    const queue = session.subscribe(0, undefined, id)
    void done.then(() => queue.lookUp())
    await queue.wait()
    session.unsubscribe(queue)
    letGo()
  }

  #remove(active: ActiveRun): void {
    const { id, session } = active.claim.run
    this.#active.delete(id)
    if (this.#bySession.get(session) === active) this.#bySession.delete(session)
  }

  abort(runId: string, cause: AbortCause): void {
    const active = this.#active.get(runId)
    active?.abort.abort(cause)
    if (cause.kind === 'fenced') active?.over.abort()
  }

  /** Makes all runs yield and go back into the queue. Runs that have not yielded when the grace period ends are given back here. */
  async yieldAll(graceOver: Promise<void>, runs = this.all()): Promise<void> {
    for (const run of runs) run.abort.abort({ kind: 'yield' } satisfies AbortCause)
    await Promise.race([Promise.all(runs.map((run) => run.done)), graceOver])
    // These executions can write nothing more, because their epoch is given back.
    const stubborn = runs.filter((run) => this.#active.get(run.claim.run.id) === run)
    for (const run of stubborn) {
      run.over.abort()
      this.#remove(run)
    }
    await Promise.all(stubborn.map(({ claim }) => this.#write(this.#options, claim, { kind: 'give-back' })))
  }

  /** Must not reject. */
  async #execute(claim: Claim, signals: RunSignals): Promise<Leaving> {
    const { abort, over } = signals
    const { clock, store } = this.#options
    // Keeps what the run knows, and stores it later if the store fails meanwhile. The epoch refuses what comes too late.
    const options = { ...this.#options, store: steadyStore(store, { clock, over, onWait: (error) => this.#report(error, claim) }) }
    const ended = await this.#surrounded(options, claim, signals).catch((error: unknown): Remainder => {
      this.#report(error, claim)
      return over.aborted ? { kind: 'lost' } : failureOf(error)
    })
    const remainder: Remainder = ended.kind === 'give-back' && abort.signal.reason === leaseEnded ? { kind: 'lost' } : ended
    // The lease is renewed between the retries. After the last one it ends, and the next claim counts the loss.
    for (const beats of [...beatsBetweenTries, 0]) {
      if (this.#active.get(claim.run.id)?.claim !== claim) break
      if (await this.#write(options, claim, remainder)) return leavingOf(remainder)
      if (!(await this.#waitFor(beats))) break
    }
    return 'lost'
  }

  /** Resolves with false if a retry is pointless. */
  async #waitFor(beats: number): Promise<boolean> {
    for (let beat = 0; beat < beats; beat++) if (!(await this.#nextBeat())) return false
    return true
  }

  async #surrounded(options: ActiveRunsOptions, claim: Claim, signals: RunSignals): Promise<Remainder> {
    const { aroundRun = alone } = options
    return aroundRun(executionOf(claim), () => executeRun(options, claim, signals))
  }

  /** Returns false if the store failed. */
  async #write(options: ActiveRunsOptions, claim: Claim, remainder: Remainder): Promise<boolean> {
    try {
      if (remainder.kind === 'finalize') await finalizeRun(options, claim)
      if (remainder.kind === 'give-back') await giveBack(options, claim)
      if (remainder.kind === 'refuse') await holdForDecision(options, claim, remainder.diff)
      if (remainder.kind === 'end') {
        await options.childrenOn(options.store).stopAwaited(claim.run)
        await endLostRun(options, claim, remainder)
      }
      return true
    } catch (error) {
      this.#report(error, claim)
      return false
    }
  }

  #report(error: unknown, { run }: Claim): void {
    this.#options.onError(error, { during: 'run', runId: run.id, session: run.session })
  }
}

function leavingOf({ kind }: Remainder): Leaving {
  if (kind === 'lost' || kind === 'settled') return kind
  return kind === 'give-back' ? 'gave-back' : 'rested'
}

const alone: AroundRun = (_run, execute) => execute()

function executionOf({ run, session }: Claim): RunExecution {
  return { runId: run.id, session: run.session, agent: session.agent, kind: run.kind, claims: run.epoch - 1 }
}

export function stopCause(request: StopRequest): AbortCause {
  return { kind: 'stop', ...(request.reason === undefined ? {} : { reason: request.reason }) }
}
