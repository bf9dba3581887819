import type { AbortCause } from '@bowline/agent-loop'
import type { Claim, Lease } from '../store/contract.ts'
import type { StopRequest } from '../store/records.ts'
import { executeRun, notWritten, type ExecutionOptions, type Remainder } from './execute-run.ts'
import { bringToRest, endLostRun, giveBack } from './recover.ts'
import type { ErrorContext, RuntimeOptions } from './types.ts'

export interface ClaimLoopOptions extends Pick<RuntimeOptions, 'concurrency' | 'lease'>, ExecutionOptions {
  readonly owner: string
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
}

interface ActiveRun {
  readonly claim: Claim
  readonly abort: AbortController
  readonly done: Promise<void>
  /** By the clock of this process: nobody else can have the run before then. */
  heldUntil: number
}

/** Claims runs while there are free slots, executes them, and keeps their leases. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #concurrency: number
  readonly #leaseMs: number
  readonly #heartbeatMs: number
  readonly #active = new Map<string, ActiveRun>()
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  /** One pass at a time; a wake during a pass asks for one more. */
  #pass: Promise<number> | undefined
  #again = false
  #renewing = false
  #cancelHeartbeat: (() => void) | undefined
  /** Resolves at the next heartbeat, or when the loop is stopped. */
  #nextBeat = Promise.withResolvers<void>()

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    this.#concurrency = options.concurrency ?? 32
    this.#leaseMs = options.lease?.ttlMs ?? 10_000
    this.#heartbeatMs = options.lease?.heartbeatMs ?? 3_000
  }

  /** Resolves with how many runs of a dead owner were taken up. */
  async start(): Promise<number> {
    this.#state = 'running'
    this.#nextBeat = Promise.withResolvers()
    this.#scheduleHeartbeat()
    return this.#claimAll()
  }

  /** Runs leave at once and go back into the queue, with their leases kept meanwhile; tools have `graceMs` to settle. */
  async stop(graceMs: number): Promise<void> {
    this.#state = 'stopping'
    this.#nextBeat.resolve()
    await this.#pass?.catch(() => undefined)
    for (const run of this.#active.values()) run.abort.abort({ kind: 'yield' } satisfies AbortCause)
    const { clock } = this.#options
    const { promise: graceOver, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + graceMs, resolve)
    await Promise.race([Promise.all([...this.#active.values()].map((run) => run.done)), graceOver])
    cancel()
    // What these still do is theirs alone: nothing of it can be written under an epoch that was given back.
    const stubborn = [...this.#active.values()]
    this.#active.clear()
    await Promise.all(stubborn.map(({ claim }) => this.#write(claim, { kind: 'give-back' })))
    this.#state = 'stopped'
    this.#cancelHeartbeat?.()
  }

  wake(): void {
    if (this.#state !== 'running') return
    this.#claimAll().catch((error: unknown) => this.#options.onError(error, { during: 'claim' }))
  }

  /** Also of a run that the pass under way has claimed and not begun. */
  abort(runId: string, request: StopRequest): void {
    const abort = (): void => this.#active.get(runId)?.abort.abort(stopCause(request))
    if (this.#active.has(runId)) abort()
    else this.#pass?.then(abort, () => undefined)
  }

  #claimAll(): Promise<number> {
    this.#again = true
    this.#pass ??= this.#claimPasses()
    return this.#pass
  }

  async #claimPasses(): Promise<number> {
    let recovered = 0
    // The pass begins when it is known as the one under way, and is over in the step that finds nothing asked for:
    // a wake in between would be lost.
    await Promise.resolve()
    try {
      while (this.#again) {
        this.#again = false
        const free = this.#concurrency - this.#active.size
        if (this.#state !== 'running' || free <= 0) break
        const { store, owner, agents, clock } = this.#options
        const heldUntil = clock.now() + this.#leaseMs
        const claims = await store.claim({ owner, max: free, leaseMs: this.#leaseMs, agents: [...agents.keys()] })
        for (const claim of claims) {
          if (claim.previous === 'running') recovered++
          this.#begin(claim, heldUntil)
        }
      }
    } finally {
      this.#pass = undefined
    }
    return recovered
  }

  #begin(claim: Claim, heldUntil: number): void {
    const { run } = claim
    const { live } = this.#options
    // A lease of this process that was over: what still runs under the old epoch has to end.
    this.#active.get(run.id)?.abort.abort({ kind: 'fenced' } satisfies AbortCause)
    const abort = new AbortController()
    if (run.stop) abort.abort(stopCause(run.stop))
    const letGo = live.hold(run.session)
    const active: ActiveRun = {
      claim,
      abort,
      heldUntil,
      done: this.#execute(claim, abort).finally(() => {
        letGo()
        const current = this.#active.get(run.id) ?? active
        if (current !== active) return
        this.#active.delete(run.id)
        live.endRun(run.session, run.id)
        this.wake()
      }),
    }
    this.#active.set(run.id, active)
  }

  /** Must not reject. */
  async #execute(claim: Claim, abort: AbortController): Promise<void> {
    const remainder = await executeRun(this.#options, claim, abort).catch((error: unknown): Remainder => {
      this.#report(error, claim)
      return { kind: 'end', status: 'error', reason: 'journal-error', error: notWritten }
    })
    // What the store does not take now it is given again, else nobody would ever claim the run or end it.
    while (this.#active.get(claim.run.id)?.claim === claim) {
      if (await this.#write(claim, remainder)) return
      if (this.#state !== 'running') return
      await this.#nextBeat.promise
    }
  }

  /** False: the store did not take it. */
  async #write(claim: Claim, remainder: Remainder): Promise<boolean> {
    try {
      if (remainder.kind === 'rest') await bringToRest(this.#options, claim)
      if (remainder.kind === 'give-back') await giveBack(this.#options, claim)
      if (remainder.kind === 'end') await endLostRun(this.#options, claim, remainder)
      return true
    } catch (error) {
      this.#report(error, claim)
      return false
    }
  }

  #report(error: unknown, { run }: Claim): void {
    this.#options.onError(error, { during: 'run', runId: run.id, session: run.session })
  }

  #scheduleHeartbeat(): void {
    const { clock } = this.#options
    this.#cancelHeartbeat = clock.setTimer(clock.now() + this.#heartbeatMs, () => {
      this.#scheduleHeartbeat()
      this.#heartbeat()
    })
  }

  /** Renews the leases, carries out what was asked elsewhere, and looks for work that nobody announced. */
  #heartbeat(): void {
    const beat = this.#nextBeat
    this.#nextBeat = Promise.withResolvers()
    beat.resolve()
    if (this.#renewing) this.#abortUnheld()
    else {
      this.#renewing = true
      this.#renew()
        .catch((error: unknown) => {
          this.#options.onError(error, { during: 'heartbeat' })
          this.#abortUnheld()
        })
        .finally(() => (this.#renewing = false))
    }
    this.wake()
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#options
    const heldUntil = clock.now() + this.#leaseMs
    const leases = [...this.#active.values()].map(({ claim: { run } }): Lease => ({ runId: run.id, epoch: run.epoch }))
    const states = leases.length === 0 ? [] : await store.renew(leases, this.#leaseMs)
    for (const [place, { runId, held, stopping }] of states.entries()) {
      const active = this.#active.get(runId)
      if (!active || active.claim.run.epoch !== leases[place]?.epoch) continue
      if (!held) active.abort.abort({ kind: 'fenced' } satisfies AbortCause)
      else if (stopping) active.abort.abort(stopCause(stopping))
      if (held) active.heldUntil = heldUntil
    }
  }

  /** Without word from the store a run is left before its lease can be over: somebody else may then take it. */
  #abortUnheld(): void {
    const nextBeatAt = this.#options.clock.now() + this.#heartbeatMs
    for (const run of this.#active.values()) {
      if (run.heldUntil <= nextBeatAt) run.abort.abort({ kind: 'fenced' } satisfies AbortCause)
    }
  }
}

function stopCause(request: StopRequest): AbortCause {
  return { kind: 'stop', ...(request.reason === undefined ? {} : { reason: request.reason }) }
}
