import type { Claim, ClaimRequest } from '../contract/session-store.ts'
import type { StopRequest } from '../contract/records.ts'
import { ActiveRuns, stopCause, type ActiveRun, type ActiveRunsOptions, type Leaving } from './active-runs.ts'
import { defaultLeaseMs, Leases } from './leases.ts'
import type { RuntimeOptions } from './types.ts'

export interface ClaimLoopOptions
  extends Pick<RuntimeOptions, 'concurrency' | 'maxRunsPerTenant' | 'lease'>, Omit<ActiveRunsOptions, 'onRest'> {
  /** False: the loop claims only what its methods ask for. */
  readonly claimsByItself: boolean
  readonly owner: string
  /** Called after an execution has ended. Resolves when its follow-up work is stored. Must neither throw nor reject. */
  readonly onRest: (claim: Claim, how: Leaving) => Promise<void>
}

type ClaimOrder = Pick<ClaimRequest, 'max' | 'runId' | 'keys' | 'others' | 'lostAt'>

const nothing: ClaimOrder = { max: 0 }

/** Interval in ms at which to look for work without a hint. */
const pollMs = 1000

/** Claims runs while there are free slots and has them executed. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #runs: ActiveRuns
  readonly #leases: Leases
  readonly #concurrency: number
  readonly #leaseMs: number
  readonly #heartbeatMs: number
  #isStarted = false
  /** Number of callers that have paused claiming. At 0 the loop claims work as it arrives. */
  #pauses = 0
  /** The next claim, from its request until it begins. A wake in that time does not request another one. */
  #next: Promise<readonly Claim[]> | undefined
  /** Keys of sessions in which the next claim may find work. Undefined means any session. */
  #woken = new Set<string | undefined>()
  /** The last claim returned as many runs as it asked for, or failed: there may be more. */
  #mayBeMore = true
  /** Claims run one after the other: the number of free slots is known once the previous claim has begun its runs. */
  #claiming: Promise<unknown> = Promise.resolve()
  /** Runs in execution that have released their slot while they wait for another run. */
  #releasedSlots = 0
  readonly #afterwards = new Set<Promise<void>>()
  #counts: Readonly<Record<Leaving, number>> = { settled: 0, rested: 0, 'gave-back': 0, lost: 0 }
  /** Resolves at the next wake or end of an execution. */
  #news = Promise.withResolvers<void>()
  /** Resolves at the next heartbeat, or when the loop is stopped. */
  #nextBeat = Promise.withResolvers<void>()
  #cancelPoll: (() => void) | undefined
  #cancelBeat: (() => void) | undefined

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    this.#concurrency = options.concurrency ?? 32
    this.#leaseMs = options.lease?.ttlMs ?? defaultLeaseMs
    this.#heartbeatMs = options.lease?.heartbeatMs ?? 3_000
    this.#runs = new ActiveRuns({ ...options, onRest: (run, how) => this.#onRest(run, how) }, async () => {
      if (this.#isStarted) await this.#nextBeat.promise
      return this.#isStarted
    })
    this.#leases = new Leases({ ...options, leaseMs: this.#leaseMs, heartbeatMs: this.#heartbeatMs }, this.#runs)
  }

  /** Resolves with the runs taken over from dead owners. If it does not claim by itself, there are none. */
  async start(): Promise<readonly Claim[]> {
    this.#isStarted = true
    this.#nextBeat = Promise.withResolvers()
    if (!this.#options.claimsByItself) return []
    this.#poll()
    return this.#claimAll(undefined)
  }

  /** Waits until these runs go on, wait or have ended, at most for the length of a lease. */
  async judged(claims: readonly Claim[]): Promise<void> {
    if (claims.length === 0) return
    const { clock } = this.#options
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + this.#leaseMs, resolve, { hold: true })
    await Promise.race([late, Promise.all(claims.map(async ({ run }) => this.#runs.get(run.id)?.judged))])
    cancel()
  }

  /** Makes runs yield and go back into the queue. Their leases are renewed meanwhile; tools have `graceMs` to settle. */
  async stop(graceMs: number): Promise<void> {
    this.#isStarted = false
    this.#nextBeat.resolve()
    await this.#claiming
    const { clock } = this.#options
    const { promise: graceOver, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + graceMs, resolve, { hold: true })
    await this.#runs.yieldAll(graceOver)
    await Promise.race([this.settled(), graceOver])
    cancel()
    this.#cancelPoll?.()
    this.#stopBeating()
    this.#tellNews()
  }

  /**
   * Called if there may be something to claim, in this session or, without a key, in any. If this process holds the session, it
   * is checked after its run has ended.
   */
  wake(key?: string): void {
    this.#tellNews()
    if (!this.#options.claimsByItself || (key !== undefined && this.#runs.wake(key))) return
    this.#claimAll(key).catch((error: unknown) => this.#options.onError(error, { during: 'claim' }))
  }

  /** Aborts the run if it is executed here. A run that has not begun meets the stored stop request in its first commit. */
  abort(runId: string, request: StopRequest): void {
    this.#runs.abort(runId, stopCause(request))
  }

  /** Aborts a run that was ended elsewhere, without writing anything more. */
  fence(runId: string): void {
    this.#runs.abort(runId, { kind: 'fenced' })
  }

  /** Called if another process has written to this session. Checks now, not at the next heartbeat, whether its run was stopped. */
  heed(key: string): void {
    const active = this.#runs.ofSession(key)
    if (active) this.#leases.look(active)
  }

  /** Does the same as `heed` for every session with a run in execution here. */
  heedAll(): void {
    this.#leases.lookAtAll()
  }

  /** Returns true if this process executes a run of the session. */
  executes(key: string): boolean {
    return this.#runs.ofSession(key) !== undefined
  }

  /** Releases the slot of a run while it waits, because the run it waits for may need a slot. */
  async releaseSlotWhile<T>(waiting: () => Promise<T>): Promise<T> {
    this.#releasedSlots += 1
    if (this.#mayBeMore) this.wake()
    try {
      return await waiting()
    } finally {
      this.#releasedSlots -= 1
    }
  }

  /** Claims this run and begins it. Resolves with false if it cannot be claimed. */
  async claimRun(runId: string): Promise<boolean> {
    return (await this.#claim(() => ({ max: 1, runId }))).length > 0
  }

  /** Claims up to `max` runs, limited by the free slots. Resolves with their number. */
  async claimUpTo(max: number): Promise<number> {
    return (await this.#claim(() => ({ max: Math.min(max, this.#room()) }))).length
  }

  /**
   * Claims the first run of a session. Resolves with false if it cannot be claimed. `lostAt`: see `ClaimRequest`.
   */
  async claimSession(key: string, lostAt: number | undefined): Promise<boolean> {
    return (await this.#claim(() => ({ max: 1, keys: [key], ...(lostAt !== undefined && { lostAt }) }))).length > 0
  }

  /**
   * Resolves when the run of a session has left this process; with undefined if none is executed here. Once `late` resolves, the run
   * yields before its next step; once `over` does, at its next boundary.
   */
  async leaving(key: string, late: Promise<void>, over: Promise<void>): Promise<Leaving | undefined> {
    const active = this.#runs.ofSession(key)
    if (!active) return undefined
    void late.then(() => (active.isToYield = true))
    void over.then(() => this.#runs.yieldAll(new Promise(() => undefined), [active]))
    return active.done
  }

  get size(): number {
    return this.#runs.size
  }

  get hasRoom(): boolean {
    return this.#room() > 0
  }

  /** Number of ended executions so far, by how they ended. */
  get counts(): Readonly<Record<Leaving, number>> {
    return this.#counts
  }

  /** Resolves when there may be more to claim. */
  get news(): Promise<void> {
    return this.#news.promise
  }

  /** Waits for the follow-up work of ended runs. Resolves with true if there was any. */
  async settled(): Promise<boolean> {
    const afterwards = [...this.#afterwards]
    await Promise.all(afterwards)
    return afterwards.length > 0
  }

  /** Makes all runs yield at their next boundary. Nothing is claimed meanwhile. */
  async yieldAll(): Promise<void> {
    this.#pauses += 1
    try {
      await this.#claiming
      await this.#runs.yieldAll(new Promise(() => undefined))
      await this.settled()
    } finally {
      this.#pauses -= 1
    }
  }

  #onRest({ claim, wasWoken }: ActiveRun, how: Leaving): void {
    this.#counts = { ...this.#counts, [how]: this.#counts[how] + 1 }
    if (this.#runs.size === 0) this.#stopBeating()
    const afterwards = this.#options.onRest(claim, how).finally(() => this.#afterwards.delete(afterwards))
    this.#afterwards.add(afterwards)
    // The next run of the same tenant may be in any session.
    if (this.#mayBeMore || this.#options.maxRunsPerTenant !== undefined) this.wake()
    else if (how !== 'settled' || wasWoken) this.wake(claim.session.key)
    else this.#tellNews()
  }

  /** Resolves with the claimed runs that their owners had lost. */
  #claimAll(key: string | undefined): Promise<readonly Claim[]> {
    this.#woken.add(key)
    this.#next ??= this.#claim(() => {
      this.#next = undefined
      return this.#nextOrder()
    }).then((claims) => claims.filter(({ previous }) => previous === 'running'))
    return this.#next
  }

  /** Returns a claim for the named sessions. Includes other sessions only if they may have work. */
  #nextOrder(): ClaimOrder {
    const room = this.#room()
    if (this.#pauses > 0 || room <= 0) {
      // Work is looked for again when a slot is free.
      this.#mayBeMore = true
      return nothing
    }
    const woken = [...this.#woken]
    this.#woken.clear()
    const named = woken.filter((key) => key !== undefined)
    // This process may have claimed some of the sessions since they were named.
    const keys = named.filter((key) => !this.executes(key))
    if (this.#mayBeMore || named.length < woken.length) return { max: room, ...(keys.length > 0 && { keys, others: true }) }
    return keys.length === 0 ? nothing : { max: room, keys }
  }

  #room(): number {
    return this.#concurrency + this.#releasedSlots - this.#runs.size
  }

  #claim(nextOrder: () => ClaimOrder): Promise<readonly Claim[]> {
    const claims = this.#claiming.then(async () => {
      const order = nextOrder()
      return this.#isStarted && order.max > 0 ? this.#claimNow(order) : []
    })
    this.#claiming = claims.catch(() => undefined)
    return claims
  }

  async #claimNow(order: ClaimOrder): Promise<readonly Claim[]> {
    const { store, owner, directory, clock, maxRunsPerTenant } = this.#options
    const heldUntil = clock.now() + this.#leaseMs
    const request = {
      ...order,
      owner,
      leaseMs: this.#leaseMs,
      agents: directory.names(),
      holds: this.#runs.all().map(({ claim }) => claim.run.id),
    }
    const claims = await store
      .claim({ ...request, ...(maxRunsPerTenant !== undefined && { maxRunsPerTenant }) })
      .catch((error: unknown) => {
        this.#mayBeMore = true
        throw error
      })
    for (const claim of claims) this.#runs.begin(claim, heldUntil)
    // The claim may have skipped sessions to which another process was writing, unless they were named. The next poll finds
    // them.
    if (order.runId === undefined) this.#mayBeMore = claims.length === order.max
    if (this.#runs.size > 0 && !this.#cancelBeat) this.#beatOn()
    // Slots may have become free since the claim was requested.
    if (this.#mayBeMore && this.#room() > 0) this.wake()
    return claims
  }

  #tellNews(): void {
    const news = this.#news
    this.#news = Promise.withResolvers()
    news.resolve()
  }

  #poll(): void {
    const { clock } = this.#options
    this.#cancelPoll = clock.setTimer(clock.now() + pollMs, () => {
      this.#poll()
      this.wake()
    })
  }

  /** Sends heartbeats as long as runs are executed. */
  #beatOn(): void {
    const { clock } = this.#options
    this.#cancelBeat = clock.setTimer(clock.now() + this.#heartbeatMs, () => {
      this.#beatOn()
      const beat = this.#nextBeat
      this.#nextBeat = Promise.withResolvers()
      beat.resolve()
      this.#leases.beat()
    })
  }

  #stopBeating(): void {
    this.#cancelBeat?.()
    this.#cancelBeat = undefined
    this.#leases.stop()
  }
}
