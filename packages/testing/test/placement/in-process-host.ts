import type { Clock } from '@bowline/llm'
import type { Runtime } from '@bowline/sessions'
import type { PlacementHost, PlacementWorker } from '@bowline/testing/placement'

/** Ways in which a host can be wrong. */
export interface HostFaults {
  /** Drops each n-th wake. */
  readonly losesEach?: number
  /** Works on a session in several workers at once. */
  readonly sharesLanes?: true
  /** Default true. */
  readonly takesOver?: boolean
  /** Sends a visit again after this time in ms, although its worker works on it. */
  readonly impatientAfterMs?: number
  /** Does not come back at `nextDueAt`, or comes so many ms late. */
  readonly comesBack?: 'never' | number
  /** Forgets the visits of a killed worker. */
  readonly forgetsKilled?: true
  /** Wakes each session too early, and then in time. */
  readonly wakesTwice?: true
}

interface Member extends PlacementWorker {
  readonly runtime: Runtime
  /** Resolves when the connection is cut. */
  readonly gone: Promise<void>
}

/** One session. At most one worker works on it. */
interface Lane {
  dueAt: number
  isBusy: boolean
  cancel: () => void
}

/** Time for which a worker keeps a session. */
const turnMs = 1_500
const retryMs = 100

/** A host for workers in this process: one lane per session, and a timer for the earliest time at which it is due. */
export class InProcessHost implements PlacementHost {
  readonly #clock: Clock
  readonly #faults: HostFaults
  readonly #members: Member[] = []
  readonly #lanes = new Map<string, Lane>()
  #turn = 0
  #wakes = 0

  constructor(clock: Clock, faults: HostFaults = {}) {
    this.#clock = clock
    this.#faults = faults
  }

  addWorker(runtime: Runtime): PlacementWorker {
    const { promise: gone, resolve: cut } = Promise.withResolvers<void>()
    const remove = (): void => void this.#members.splice(this.#members.indexOf(member) >>> 0, 1)
    const kill = (): void => {
      remove()
      cut()
    }
    const member: Member = { runtime, gone, kill, stop: remove }
    this.#members.push(member)
    runtime.onWake(({ key = '', atMs }) => this.#hear(key, atMs))
    return member
  }

  stop(): Promise<void> {
    for (const lane of this.#lanes.values()) lane.cancel()
    return Promise.resolve()
  }

  #hear(key: string, atMs: number): void {
    const { losesEach = Infinity, wakesTwice } = this.#faults
    this.#wakes += 1
    if (this.#wakes % losesEach === 0) return
    this.#wake(key, atMs)
    if (!wakesTwice) return
    this.#wake(key, atMs - 1_000)
    this.#clock.setTimer(atMs, () => this.#wake(key, atMs))
  }

  #laneOf(key: string): Lane {
    const lane = this.#lanes.get(key) ?? { dueAt: Infinity, isBusy: false, cancel: () => undefined }
    this.#lanes.set(key, lane)
    return lane
  }

  #wake(key: string, atMs: number): void {
    const lane = this.#laneOf(key)
    lane.dueAt = Math.min(lane.dueAt, atMs)
    this.#arm(key, lane)
  }

  #arm(key: string, lane: Lane): void {
    lane.cancel()
    if (lane.isBusy && !this.#faults.sharesLanes) return
    lane.cancel = this.#clock.setTimer(lane.dueAt, () => void this.#visit(key, lane))
  }

  async #visit(key: string, lane: Lane): Promise<void> {
    const member = this.#members[this.#turn++ % this.#members.length]
    const now = this.#clock.now()
    lane.dueAt = Infinity
    if (!member) return this.#wake(key, now + retryMs)
    lane.isBusy = true
    const { takesOver = true, impatientAfterMs = Infinity, forgetsKilled } = this.#faults
    const calm = this.#clock.setTimer(now + impatientAfterMs, () => void this.#visit(key, lane))
    const working = member.runtime.work(key, { untilMs: now + turnMs, takeOver: takesOver }).then(
      ({ nextDueAt }) => this.#comeBack(nextDueAt ?? Infinity),
      () => now + retryMs,
    )
    const at = await Promise.race([working, member.gone.then(() => (forgetsKilled ? Infinity : now))])
    calm()
    lane.isBusy = false
    this.#wake(key, at)
  }

  #comeBack(atMs: number): number {
    const { comesBack = 0 } = this.#faults
    return comesBack === 'never' ? Infinity : atMs + comesBack
  }
}
