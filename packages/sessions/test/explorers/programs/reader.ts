import type { Session } from '../../../src/commands/types.ts'
import type { LoggedEvent } from '../../../src/contract/log-events.ts'
import { SessionError } from '../../../src/errors.ts'
import { nameOfError } from '../../../../testing/src/crash-kit/start-runtime.ts'
import type { ProgramSession, ProgramStep } from './program.ts'
import type { Living, Stage } from './stage.ts'

type ReadStep = Extract<ProgramStep, { do: 'read' }>

const maxTries = 5

/** A client that follows a session or one of its runs, as slowly as the program says. After each death of a process it reconnects. */
export class ProgramReader {
  readonly session: ProgramSession
  readonly events: LoggedEvent[] = []
  /** Id of the run that it follows. */
  runId: string | undefined
  /** Number of the last stored event when the reader ended. `events` holds the events that it read. */
  endedAt: number | undefined
  /** Error that stopped it. */
  refused: string | undefined
  /** Number of the event after which it began. */
  start = 0
  readonly #stage: Stage
  readonly #step: ReadStep
  #lag: number
  #hasBegun = false
  /** Number of its present connection. Earlier ones stop reading. */
  #life = 0
  #tries = 0

  constructor(stage: Stage, step: ReadStep) {
    this.#stage = stage
    this.#step = step
    this.#lag = step.lag
    this.session = step.to
  }

  /** Continues at another process, after the last event it has read. */
  comeBack(living: Living): void {
    if (this.endedAt === undefined && this.refused === undefined) void this.#follow(living, ++this.#life)
  }

  /** Reads on without pauses. */
  hurry(): void {
    this.#lag = 0
  }

  async #follow(living: Living, life: number): Promise<void> {
    const { runtime, process } = living
    const isOver = (): boolean => process.state === 'dead' || life !== this.#life
    const session = runtime.session(this.session)
    try {
      if (!this.#hasBegun && !(await this.#begin(session, isOver))) return
      const last = this.events.at(-1)?.cursor ?? (this.start > 0 ? String(this.start) : undefined)
      const run = this.runId === undefined ? {} : { runId: this.runId }
      for await (const event of session.events({ ...(last !== undefined && { cursor: last }), ...run })) {
        if (isOver()) return
        this.events.push(event)
        await this.#pause()
      }
      if (!isOver()) this.endedAt = (await this.#stage.store.readEvents(this.session, 0, 1)).lastSeq
    } catch (error) {
      if (!isOver()) this.#hear(error, living)
    }
  }

  /** Starts following. Returns false if there is nothing to follow, or if it has reconnected meanwhile. */
  async #begin(session: Session, isOver: () => boolean): Promise<boolean> {
    const info = await session.info()
    const { items } = info && this.#step.run ? await session.runs() : { items: [] }
    if (isOver()) return false
    const runId = items.at(-1)?.runId
    if (!info || (this.#step.run && runId === undefined)) {
      this.refused = info ? 'there is no run' : 'there is no session'
      return false
    }
    if (this.#step.run) this.runId = runId
    else this.start = Math.min(this.#step.from, Number(info.cursor.split('.')[0]))
    this.#hasBegun = true
    return true
  }

  /** Waits for `lag` turns of the store, or until nothing more happens. */
  async #pause(): Promise<void> {
    for (let left = this.#lag; left > 0 && this.#lag > 0; left--) {
      await new Promise<void>((resolve) => {
        const end = this.#stage.eachTurn(() => (end(), resolve()))
      })
    }
  }

  #hear(error: unknown, living: Living): void {
    if (SessionError.isInstance(error) && error.retryable && this.#tries++ < maxTries) return this.comeBack(living)
    this.refused = nameOfError(error)
    this.#stage.log('reader', `is refused: ${this.refused}`)
  }
}
