import type { Claim } from '../store/contract.ts'
import type { StopRequest } from '../store/records.ts'
import { ActiveRuns, stopCause, type ActiveRunsOptions } from './active-runs.ts'
import { Leases } from './leases.ts'
import type { DrainOptions, RuntimeOptions } from './types.ts'

export interface ClaimLoopOptions
  extends Pick<RuntimeOptions, 'concurrency' | 'lease' | 'timers'>,
    Omit<ActiveRunsOptions, 'onRest'> {
  readonly owner: string
  /** An execution is over. Must not throw. */
  readonly onRest: (claim: Claim) => void
}

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
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  /** Work is taken up as it comes. */
  #claims = false
  /** Claims left, when only so many are wanted. */
  #left = Infinity
  /** One pass at a time; a wake during a pass asks for one more. */
  #pass: Promise<number> | undefined
  #again = false
  #ran = 0
  /** Runs that wait for another one while they are executed. */
  #lent = 0
  #cancelTimers: (() => void)[] = []
  /** Resolves at the next heartbeat, or when the loop is stopped. */
  #nextBeat = Promise.withResolvers<void>()

  constructor(options: ClaimLoopOptions) {
    this.#options = options
    this.#concurrency = options.concurrency ?? 32
    this.#leaseMs = options.lease?.ttlMs ?? 10_000
    this.#heartbeatMs = options.lease?.heartbeatMs ?? 3_000
    this.#hasTimers = options.timers ?? true
    const onRest = (claim: Claim): void => {
      options.onRest(claim)
      this.wake()
    }
    this.#runs = new ActiveRuns({ ...options, onRest }, async () => {
      if (this.#state === 'running') await this.#nextBeat.promise
      return this.#state === 'running'
    })
    this.#leases = new Leases({ ...options, leaseMs: this.#leaseMs, heartbeatMs: this.#heartbeatMs }, this.#runs)
  }

  /** Resolves with how many runs of a dead owner were taken up. Without timers nothing is, until it is asked for. */
  async start(): Promise<number> {
    this.#state = 'running'
    this.#nextBeat = Promise.withResolvers()
    this.#repeat(this.#heartbeatMs, () => this.#heartbeat())
    if (!this.#hasTimers) return 0
    this.#repeat(pollMs, () => this.wake())
    this.#claims = true
    return this.#claimAll()
  }

  /** Runs leave at once and go back into the queue, with their leases kept meanwhile; tools have `graceMs` to settle. */
  async stop(graceMs: number): Promise<void> {
    this.#state = 'stopping'
    this.#nextBeat.resolve()
    await this.#pass?.catch(() => undefined)
    const { clock } = this.#options
    const { promise: graceOver, resolve } = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + graceMs, resolve)
    await this.#runs.yieldAll(graceOver)
    cancel()
    this.#state = 'stopped'
    for (const cancelTimer of this.#cancelTimers) cancelTimer()
    this.#cancelTimers = []
  }

  wake(): void {
    if (this.#state !== 'running' || !this.#claims) return
    this.#claimAll().catch((error: unknown) => this.#options.onError(error, { during: 'claim' }))
  }

  /** Also of a run that the pass under way has claimed and not begun. */
  abort(runId: string, request: StopRequest): void {
    const abort = (): void => this.#runs.abort(runId, stopCause(request))
    if (this.#runs.get(runId)) abort()
    else this.#pass?.then(abort, () => undefined)
  }

  /** Leaves a run that somebody has ended otherwise. */
  fence(runId: string): void {
    this.#runs.abort(runId, { kind: 'fenced' })
  }

  /** A run of this session is executed here. */
  executes(key: string): boolean {
    return this.#runs.all().some((active) => active.claim.session.key === key)
  }

  /** What is waited for inside of a run may need its slot: meanwhile another run can have it. */
  async lendSlot<T>(waiting: () => Promise<T>): Promise<T> {
    this.#lent += 1
    this.wake()
    try {
      return await waiting()
    } finally {
      this.#lent -= 1
    }
  }

  /** Takes up this run if it can be claimed. */
  async claimRun(runId: string): Promise<boolean> {
    if (this.#state !== 'running') return false
    const [claimed] = await this.#claim(1, runId)
    return claimed !== undefined
  }

  /** Executes what can be claimed until nothing is left, or the time is over: then runs leave at their next boundary. */
  async drain({ untilMs, maxRuns = Infinity, abortSignal }: DrainOptions): Promise<{ readonly ran: number; readonly yielded: number }> {
    const { clock } = this.#options
    const over = Promise.withResolvers<void>()
    const cancel = untilMs === undefined ? undefined : clock.setTimer(untilMs, over.resolve)
    abortSignal?.addEventListener('abort', () => over.resolve())
    let isOver = abortSignal?.aborted === true || (untilMs !== undefined && untilMs <= clock.now())
    const ended = over.promise.then(() => (isOver = true))
    const ranBefore = this.#ran
    const claimed = this.#claims
    this.#claims = true
    this.#left = maxRuns
    try {
      while (!isOver) {
        await this.#claimAll()
        const running = this.#runs.all()
        if (running.length === 0) break
        await Promise.race([ended, Promise.race(running.map((run) => run.done))])
      }
      this.#claims = false
      await this.#pass
      const yielded = this.#runs.size
      if (isOver) await this.#runs.yieldAll(new Promise(() => undefined))
      return { ran: this.#ran - ranBefore - yielded, yielded }
    } finally {
      cancel?.()
      this.#claims = claimed
      this.#left = Infinity
    }
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
        const free = Math.min(this.#left, this.#concurrency + this.#lent - this.#runs.size)
        if (this.#state !== 'running' || !this.#claims || free <= 0) break
        const claims = await this.#claim(free)
        this.#left -= claims.length
        recovered += claims.filter((claim) => claim.previous === 'running').length
      }
    } finally {
      this.#pass = undefined
    }
    return recovered
  }

  async #claim(max: number, runId?: string): Promise<readonly Claim[]> {
    const { store, owner, directory, clock } = this.#options
    const heldUntil = clock.now() + this.#leaseMs
    const agents = directory.names()
    const claims = await store.claim({ owner, max, leaseMs: this.#leaseMs, agents, ...(runId === undefined ? {} : { runId }) })
    for (const claim of claims) this.#runs.begin(claim, heldUntil)
    this.#ran += claims.length
    return claims
  }

  #repeat(everyMs: number, run: () => void): void {
    const { clock } = this.#options
    const place = this.#cancelTimers.length
    const arm = (): void => {
      this.#cancelTimers[place] = clock.setTimer(clock.now() + everyMs, () => {
        arm()
        run()
      })
    }
    arm()
  }

  #heartbeat(): void {
    const beat = this.#nextBeat
    this.#nextBeat = Promise.withResolvers()
    beat.resolve()
    this.#leases.beat()
  }
}
