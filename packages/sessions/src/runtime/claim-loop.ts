import type { Claim, ClaimRequest } from '../contract/session-store.ts'
import type { StopRequest } from '../contract/records.ts'
import { ActiveRuns, stopCause, type ActiveRun, type ActiveRunsOptions, type Leaving } from './active-runs.ts'
import { Leases } from './leases.ts'
import type { RuntimeOptions } from './types.ts'

export interface ClaimLoopOptions
  extends Pick<RuntimeOptions, 'concurrency' | 'maxRunsPerTenant' | 'lease' | 'timers'>,
    Omit<ActiveRunsOptions, 'onRest'> {
  readonly owner: string
  /** An execution is over; resolves when what follows from that is stored. Must neither throw nor reject. */
  readonly onRest: (claim: Claim, how: Leaving) => Promise<void>
}

type ClaimOrder = Pick<ClaimRequest, 'max' | 'runId' | 'keys' | 'others'>

const nothing: ClaimOrder = { max: 0 }

/** How often to look for work that nobody announced. */
const pollMs = 1000

/** Claims runs while there are free slots and has them executed. */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions
  readonly #runs: ActiveRuns
  readonly #leases: Leases
  readonly #concurrency: number
  readonly #leaseMs: number
  readonly #heartbeatMs: number
  readonly #hasTimers: boolean
  #isStarted = false
  /** Work is taken up as it comes, but for the while that somebody wants it left. */
  #pauses = 0
  /** The claim of what there is room for, from when it is asked for until it begins: a wake meanwhile asks for no other. */
  #next: Promise<number> | undefined
  /** Keys of sessions in which the next claim may find work. Undefined means any session. */
  #woken = new Set<string | undefined>()
  /** The last claim found all that it asked for, or failed: there may be more. */
  #mayBeMore = true
  /** Claims follow each other: what is free is known when the one before has begun its runs. */
  #claiming: Promise<unknown> = Promise.resolve()
  /** Runs that wait for another one while they are executed. */
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
    this.#leaseMs = options.lease?.ttlMs ?? 10_000
    this.#heartbeatMs = options.lease?.heartbeatMs ?? 3_000
    this.#hasTimers = options.timers ?? true
    this.#runs = new ActiveRuns({ ...options, onRest: (run, how) => this.#onRest(run, how) }, async () => {
      if (this.#isStarted) await this.#nextBeat.promise
      return this.#isStarted
    })
    this.#leases = new Leases({ ...options, leaseMs: this.#leaseMs, heartbeatMs: this.#heartbeatMs }, this.#runs)
  }

  /** Resolves with how many runs of a dead owner were taken up. Without timers nothing is, until it is asked for. */
  async start(): Promise<number> {
    this.#isStarted = true
    this.#nextBeat = Promise.withResolvers()
    if (!this.#hasTimers) return 0
    this.#poll()
    return this.#claimAll(undefined)
  }

  /** Runs leave at once and go back into the queue, with their leases kept meanwhile; tools have `graceMs` to settle. */
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
   * There may be something to claim, in this session or in any. A session that this process holds has nothing to claim: it
   * is looked at when its run is over.
   */
  wake(key?: string): void {
    this.#tellNews()
    if (!this.#hasTimers || (key !== undefined && this.#runs.wake(key))) return
    this.#claimAll(key).catch((error: unknown) => this.#options.onError(error, { during: 'claim' }))
  }

  /** A run that has not begun meets the stored request in its first commit. */
  abort(runId: string, request: StopRequest): void {
    this.#runs.abort(runId, stopCause(request))
  }

  /** Leaves a run that somebody has ended otherwise. */
  fence(runId: string): void {
    this.#runs.abort(runId, { kind: 'fenced' })
  }

  /** Another process has written to this session: whether its run was stopped is asked at once, not at the next heartbeat. */
  heed(key: string): void {
    const active = this.#runs.ofSession(key)
    if (active) this.#leases.look(active)
  }

  /** As `heed`, for each session of which a run is executed here. */
  heedAll(): void {
    this.#leases.lookAtAll()
  }

  /** A run of this session is executed here. */
  executes(key: string): boolean {
    return this.#runs.ofSession(key) !== undefined
  }

  /** Releases the slot of a run while it waits: what it waits for may need a slot. */
  async releaseSlotWhile<T>(waiting: () => Promise<T>): Promise<T> {
    this.#releasedSlots += 1
    if (this.#mayBeMore) this.wake()
    try {
      return await waiting()
    } finally {
      this.#releasedSlots -= 1
    }
  }

  /** Takes up this run if it can be claimed. */
  async claimRun(runId: string): Promise<boolean> {
    return (await this.#claim(() => ({ max: 1, runId }))).length > 0
  }

  /** Takes up as many runs as can be claimed and have room. */
  async claimUpTo(max: number): Promise<number> {
    return (await this.#claim(() => ({ max: Math.min(max, this.#room()) }))).length
  }

  get size(): number {
    return this.#runs.size
  }

  /** How many executions are over so far. */
  get counts(): Readonly<Record<Leaving, number>> {
    return this.#counts
  }

  /** Resolves when there may be more to claim. */
  get news(): Promise<void> {
    return this.#news.promise
  }

  /** Resolves with whether anything had to be stored behind runs that are over. */
  async settled(): Promise<boolean> {
    const afterwards = [...this.#afterwards]
    await Promise.all(afterwards)
    return afterwards.length > 0
  }

  /** All leave at their next boundary, and nothing is taken up by itself meanwhile. */
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
    // The next run of its tenant may be in any session.
    if (this.#mayBeMore || this.#options.maxRunsPerTenant !== undefined) this.wake()
    else if (how !== 'settled' || wasWoken) this.wake(claim.session.key)
    else this.#tellNews()
  }

  /** Resolves with how many of the claimed runs were lost by their owner. */
  #claimAll(key: string | undefined): Promise<number> {
    this.#woken.add(key)
    this.#next ??= this.#claim(() => {
      this.#next = undefined
      return this.#nextOrder()
    }).then((claims) => claims.filter(({ previous }) => previous === 'running').length)
    return this.#next
  }

  /** The sessions that were named, and others only if something may wait there. */
  #nextOrder(): ClaimOrder {
    const room = this.#room()
    if (this.#pauses > 0 || room <= 0) {
      // Looked for when a slot is free.
      this.#mayBeMore = true
      return nothing
    }
    const woken = [...this.#woken]
    this.#woken.clear()
    const named = woken.filter((key) => key !== undefined)
    // This process may have claimed some of them since they were named.
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
    const request = { ...order, owner, leaseMs: this.#leaseMs, agents: directory.names(), holds: this.#runs.all().map(({ claim }) => claim.run.id) }
    const claims = await store.claim({ ...request, ...(maxRunsPerTenant !== undefined && { maxRunsPerTenant }) }).catch((error: unknown) => {
      this.#mayBeMore = true
      throw error
    })
    for (const claim of claims) this.#runs.begin(claim, heldUntil)
    // Sessions that another process was writing to were passed over, unless they were named: the next look finds them.
    if (order.runId === undefined) this.#mayBeMore = claims.length === order.max
    if (this.#runs.size > 0 && !this.#cancelBeat) this.#beatOn()
    // Slots may have become free since the claim was made.
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

  /** As long as runs are executed. */
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
  }
}
