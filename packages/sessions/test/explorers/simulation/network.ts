import type { StoreHint } from '../../../src/contract/session-store.ts'
import { unavailable } from '../../../../testing/src/fault-plan.ts'
import type { StoreOperation } from '../../../../testing/src/around-store.ts'
import type { Draw } from '../programs/draw.ts'
import type { ProgramTime } from '../../../../testing/src/program-time.ts'
import type { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import type { Disturbance } from './simulation.ts'

export type NetworkOperation = StoreOperation | 'state' | 'ticket' | 'push deltas' | 'read deltas'

interface Message {
  readonly process: CrashProcess
  readonly operation: NetworkOperation
  readonly perform: () => Promise<unknown>
  readonly disturbance: Disturbance | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

export interface NetworkOptions {
  readonly time: ProgramTime
  readonly draw: Draw
  readonly disturbances: readonly Disturbance[]
  readonly lostHints: number
  /** True: a process is notified some time after it has lost hints. */
  readonly tellsLosses: boolean
  readonly log: (process: CrashProcess, what: string) => void
  /** Called when a process has died and must be replaced. */
  readonly onKilled: (process: CrashProcess) => void
}

/** Timeout in ms of a client of the store. */
const timeoutMs = 1_000
const pauseMs = 4_000
const slowMs = 1_500
const awayMs = 4_000
/** The longest time from a lost hint until the process is notified. */
const longestUntilToldMs = 2_000
const everything = { wake: true, elsewhere: true } as const

/** Connects processes with their store. Delays and loses messages, pauses and kills processes. */
export class Network {
  readonly #options: NetworkOptions
  readonly #disturbances: ReadonlyMap<number, Disturbance>
  /** Messages to and from a stopped process. They are handled when it resumes. */
  readonly #held = new Map<CrashProcess, (() => void)[]>()
  /** Process and send time of each unanswered message, by message number. */
  readonly #asked = new Map<number, { readonly process: CrashProcess; readonly at: number }>()
  /** Times until which the store is unreachable: for all processes, and for single ones. */
  #outUntil = 0
  readonly #cutUntil = new Map<CrashProcess, number>()
  /** Errors of operations that never reached the store. */
  readonly #undone = new WeakSet<object>()
  /** Processes that will soon be notified of lost hints. */
  readonly #unaware = new Set<CrashProcess>()
  /** Number of operations so far. */
  count = 0
  /** Number of disturbances in progress. */
  #open = 0

  constructor(options: NetworkOptions) {
    this.#options = options
    this.#disturbances = new Map(options.disturbances.map((each) => [each.at, each]))
  }

  get isDisturbed(): boolean {
    return this.#open > 0
  }

  /** Returns true if the process runs, reaches the store, and got its answers in time. */
  isHealthy(process: CrashProcess): boolean {
    if (process.state !== 'alive' || this.#isAway(process)) return false
    const late = this.#options.time.passed - 500
    for (const asked of this.#asked.values()) if (asked.process === process && asked.at < late) return false
    return true
  }

  /** Returns true if the operation with this error never reached the store. */
  isUndone(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.#undone.has(error)
  }

  ask<T>(process: CrashProcess, operation: NetworkOperation, perform: () => Promise<T>): Promise<T> {
    if (process.state === 'dead') return new Promise(() => undefined)
    const n = ++this.count
    const disturbance = this.#disturbances.get(n)
    this.#asked.set(n, { process, at: this.#options.time.passed })
    return new Promise<T>((resolve, reject) => {
      const done =
        <V>(settle: (value: V) => void) =>
        (value: V) => {
          this.#asked.delete(n)
          settle(value)
        }
      this.#leave({ process, operation, perform, disturbance, resolve: done(resolve as (answer: unknown) => void), reject: done(reject) })
    })
  }

  /** Sends a hint to another process: late, twice or never. A stopped process receives it when it resumes. */
  hint(process: CrashProcess, hint: StoreHint, listener: (hint: StoreHint) => void): void {
    const { draw, lostHints } = this.#options
    if (process.state === 'dead') return
    if (this.#isAway(process) || draw.chance(lostHints)) return this.#loseHint(process, listener)
    const tell = (): void => this.#hear(process, () => listener(hint))
    this.#in(draw.whole(20), tell)
    if (draw.chance(0.05)) this.#in(draw.whole(1_000), tell)
  }

  #loseHint(process: CrashProcess, listener: (hint: StoreHint) => void): void {
    const { draw, tellsLosses, log } = this.#options
    if (!tellsLosses || this.#unaware.has(process)) return
    this.#unaware.add(process)
    const tell = (): void => {
      this.#unaware.delete(process)
      this.#hear(process, () => {
        log(process, 'is told that it has lost hints')
        listener(everything)
      })
    }
    this.#in(Math.max(0, this.#backIn(process)) + draw.whole(longestUntilToldMs), tell)
  }

  #leave(message: Message): void {
    const { process, operation, disturbance } = message
    if (process.state === 'stopped') return this.#hold(process, () => this.#leave(message))
    if (disturbance) this.#options.log(process, `is disturbed at ${operation}: ${disturbance.how}`)
    switch (disturbance?.how) {
      case 'kill':
        return this.#kill(process)
      case 'pause':
        this.#pause(process, disturbance)
        return this.#hold(process, () => this.#travel(message, 0))
      case 'lost':
        return this.#in(timeoutMs, () => this.#hear(process, () => this.#refuse(message)))
      case 'slow':
        return this.#travel(message, disturbance.ms ?? slowMs)
      case 'cut':
      case 'outage':
        this.#goAway(process, disturbance)
        return this.#travel(message, 0)
      default:
        return this.#travel(message, 0)
    }
  }

  #travel(message: Message, moreMs: number): void {
    this.#in(this.#delay() + moreMs, () => void this.#arrive(message))
  }

  async #arrive(message: Message): Promise<void> {
    const { process, perform, disturbance } = message
    const refuse = (): void => message.reject(unavailable('commit'))
    if (this.#isAway(process)) return this.#in(this.#delay(), () => this.#hear(process, () => this.#refuse(message)))
    const outcome = await perform().then(
      (answer) => () => message.resolve(answer),
      (error: unknown) => () => message.reject(error),
    )
    if (process.state === 'dead') return
    switch (disturbance?.how) {
      case 'kill-after':
        return this.#kill(process)
      case 'pause-after':
        if (process.state === 'alive') this.#pause(process, disturbance)
        return this.#hear(process, outcome)
      case 'lost-after':
        return this.#in(timeoutMs, () => this.#hear(process, refuse))
      case 'slow-after':
        return this.#in(disturbance.ms ?? slowMs, () => this.#hear(process, outcome))
      default:
        return this.#in(this.#delay(), () => this.#hear(process, this.#isAway(process) ? refuse : outcome))
    }
  }

  /** Rejects a message that has not reached the store. */
  #refuse({ reject }: Message): void {
    const error = unavailable('commit')
    this.#undone.add(error)
    reject(error)
  }

  /** Runs the outcome in the process. A stopped process gets it when it resumes, a dead one never. */
  #hear(process: CrashProcess, outcome: () => void): void {
    if (process.state === 'stopped') this.#hold(process, outcome)
    else if (process.state !== 'dead') outcome()
  }

  #hold(process: CrashProcess, what: () => void): void {
    this.#held.set(process, [...(this.#held.get(process) ?? []), what])
  }

  #kill(process: CrashProcess): void {
    if (process.state === 'dead') return
    process.kill()
    this.#options.onKilled(process)
  }

  /** Breaks connections: operations in progress, or their answers, are lost. */
  #goAway(process: CrashProcess, { how, ms = awayMs }: Disturbance): void {
    const { now } = this.#options.time
    if (how === 'outage') this.#outUntil = Math.max(this.#outUntil, now + ms)
    else this.#cutUntil.set(process, Math.max(this.#cutUntil.get(process) ?? 0, now + ms))
    this.#open += 1
    this.#in(ms, () => (this.#open -= 1))
  }

  #isAway(process: CrashProcess): boolean {
    return this.#backIn(process) > 0
  }

  /** Returns the time in ms until the process reaches the store again. */
  #backIn(process: CrashProcess): number {
    return Math.max(this.#outUntil, this.#cutUntil.get(process) ?? 0) - this.#options.time.now
  }

  #pause(process: CrashProcess, { ms = pauseMs }: Disturbance): void {
    const { log, draw } = this.#options
    process.stop()
    this.#open += 1
    this.#in(ms, () => {
      this.#open -= 1
      if (process.state !== 'stopped') return
      log(process, 'goes on')
      // Both its timers and its answers are due. Either may come first.
      const isTimersFirst = draw.chance(0.5)
      if (!isTimersFirst) this.#release(process)
      this.#in(0, () => {
        process.wake()
        process.finishWaking()
        this.#in(0, () => this.#release(process))
      })
    })
  }

  #release(process: CrashProcess): void {
    const held = this.#held.get(process) ?? []
    this.#held.delete(process)
    for (const each of held) each()
  }

  /** Draws the delay of a message. Most messages are fast. */
  #delay(): number {
    const { draw } = this.#options
    return draw.chance(0.9) ? draw.whole(3) : draw.whole(100)
  }

  #in(ms: number, run: () => void): void {
    const { clock, now } = this.#options.time
    clock.setTimer(now + ms, run)
  }
}
