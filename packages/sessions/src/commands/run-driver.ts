import type { RunHandle, SendOptions } from './types.ts'
import type { LoggedEvent } from '../contract/log-events.ts'

const defaultTimeoutMs = 30_000
const maxExpected = 1000

/** The reader for whose questions a run waits that this process executes. Nothing of it is stored. */
export class RunDriver {
  readonly timeoutMs: number
  #isRead = false
  #hasLeft = false
  /** It has asked for more behind the durable event with this number. */
  #askedBehind = 0
  #waiting: { readonly seq: number; readonly go: () => void } | undefined

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
  }

  /** Resolves when the driver asks on behind this event, or has left: then with false. One at a time. */
  async asksBehind(seq: number): Promise<boolean> {
    if (!this.#hasLeft && this.#askedBehind < seq) await new Promise<void>((go) => (this.#waiting = { seq, go }))
    return !this.#hasLeft
  }

  /** Nobody is waited for any more. */
  leave(): void {
    this.#hasLeft = true
    this.#go()
  }

  /** The handle as its sender gets it: the first who iterates over it drives the run, and all others watch. */
  handleOf(handle: RunHandle): RunHandle {
    return {
      ...handle,
      [Symbol.asyncIterator]: () => (this.#isRead ? handle[Symbol.asyncIterator]() : this.#read(handle[Symbol.asyncIterator]())),
      result: () => {
        // Who only wants to know how it ends does not look at what comes before.
        if (!this.#isRead) this.leave()
        return handle.result()
      },
    }
  }

  #read(events: AsyncIterator<LoggedEvent>): AsyncIterableIterator<LoggedEvent> {
    this.#isRead = true
    let given = 0
    let questions = 0
    return {
      [Symbol.asyncIterator]() {
        return this
      },
      next: async () => {
        questions++
        this.#ask(given)
        try {
          const result = await events.next()
          if (result.done) this.leave()
          else if ('seq' in result.value) given = result.value.seq ?? given
          return result
        } catch (error) {
          this.leave()
          throw error
        } finally {
          // A driver may ask ahead.
          if (--questions > 0) this.#ask(given)
        }
      },
      return: async () => {
        this.leave()
        await events.return?.()
        return { done: true, value: undefined }
      },
    }
  }

  #ask(seq: number): void {
    this.#askedBehind = seq
    if (this.#waiting && seq >= this.#waiting.seq) this.#go()
  }

  #go(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.go()
  }
}

/** Undefined: the run waits for nobody. */
export function driverOf({ mode = 'live', driverTimeoutMs = defaultTimeoutMs }: SendOptions): RunDriver | undefined {
  return mode === 'live' ? undefined : new RunDriver(driverTimeoutMs)
}

/** The drivers of runs that this process has accepted and not begun to execute; another process knows nothing of them. */
export class ExpectedDrivers {
  readonly #drivers = new Map<string, RunDriver>()

  /** When too many runs wait, the one that has waited longest will wait for nobody. */
  add(runId: string, driver: RunDriver): void {
    this.#drivers.set(runId, driver)
    const [longest] = this.#drivers.keys()
    if (this.#drivers.size > maxExpected && longest !== undefined) this.#drivers.delete(longest)
  }

  /** For the first execution; whoever takes the run over later waits for nobody. */
  take(runId: string): RunDriver | undefined {
    const driver = this.#drivers.get(runId)
    this.#drivers.delete(runId)
    return driver
  }
}
