import type { Session } from '../../commands/types.ts'
import type { LoggedEvent } from '../../contract/log-events.ts'
import { SessionError } from '../../errors.ts'
import { nameOfError } from '../crash-kit/start-runtime.ts'
import type { ProgramSession, ProgramStep } from './program.ts'
import type { Living, Stage } from './stage.ts'

type ReadStep = Extract<ProgramStep, { do: 'read' }>

const maxTries = 5

/** A client that follows a session, or one run of it, as slowly as the program says, and comes back after each death. */
export class ProgramReader {
  readonly session: ProgramSession
  readonly events: LoggedEvent[] = []
  /** The run that is followed. */
  runId: string | undefined
  /** Where the log ended when the reader got its end. `events` holds the events that it read. */
  endedAt: number | undefined
  /** Why it could not go on. */
  refused: string | undefined
  /** The event behind which it began. */
  start = 0
  readonly #stage: Stage
  readonly #step: ReadStep
  #lag: number
  #hasBegun = false
  /** Which of its returns it is: an earlier one reads no further. */
  #life = 0
  #tries = 0

  constructor(stage: Stage, step: ReadStep) {
    this.#stage = stage
    this.#step = step
    this.#lag = step.lag
    this.session = step.to
  }

  /** Goes on at another process where it stood. */
  comeBack(living: Living): void {
    if (this.endedAt === undefined && this.refused === undefined) void this.#follow(living, ++this.#life)
  }

  /** Reads on without a pause. */
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

  /** False: there is nothing to follow, or it was begun anew meanwhile. */
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

  /** Until the store was asked so often, or nothing happens any more. */
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
