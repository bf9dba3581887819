import type { RunHandle, SendOptions } from './types.ts'
import type { LoggedEvent } from '../contract/log-events.ts'

const defaultTimeoutMs = 30_000
const maxExpected = 1000

/** Reader that drives a run of this process: the run waits until the reader asks for more. Not stored. */
export class RunDriver {
  readonly timeoutMs: number
  #isRead = false
  #hasLeft = false
  /** Number of the last durable event after which the reader has asked for more. */
  #askedBehind = 0
  #waiting: { readonly seq: number; readonly go: () => void } | undefined

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs
  }

  /** Resolves with true when the driver asks for more after this event, or with false if it has left. One call at a time. */
  async asksBehind(seq: number): Promise<boolean> {
    if (!this.#hasLeft && this.#askedBehind < seq) await new Promise<void>((go) => (this.#waiting = { seq, go }))
    return !this.#hasLeft
  }

  /** Ends the driving: the run waits no more. */
  leave(): void {
    this.#hasLeft = true
    this.#go()
  }

  /** Wraps the handle for its sender. The first iteration drives the run; all others only watch. */
  handleOf(handle: RunHandle): RunHandle {
    return {
      ...handle,
      [Symbol.asyncIterator]: () => (this.#isRead ? handle[Symbol.asyncIterator]() : this.#read(handle[Symbol.asyncIterator]())),
      result: (options) => {
        // A caller that only waits for the result reads no events.
        if (!this.#isRead) this.leave()
        return handle.result(options)
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

/** Returns undefined if the run waits for no reader. */
export function driverOf({ mode = 'live', driverTimeoutMs = defaultTimeoutMs }: SendOptions): RunDriver | undefined {
  return mode === 'live' ? undefined : new RunDriver(driverTimeoutMs)
}

/** Drivers of runs that this process has accepted and not started. Other processes do not know them. */
export class ExpectedDrivers {
  readonly #drivers = new Map<string, RunDriver>()
  readonly #most: number

  constructor(most = maxExpected) {
    this.#most = most
  }

  /** If too many runs wait, drops the driver that has waited longest: its run then waits for no reader. */
  add(runId: string, driver: RunDriver): void {
    this.#drivers.set(runId, driver)
    const [longest] = this.#drivers.keys()
    if (this.#drivers.size > this.#most && longest !== undefined) this.#drivers.delete(longest)
  }

  /** Takes the driver for the first execution. After a takeover the run waits for no reader. */
  take(runId: string): RunDriver | undefined {
    const driver = this.#drivers.get(runId)
    this.#drivers.delete(runId)
    return driver
  }
}
