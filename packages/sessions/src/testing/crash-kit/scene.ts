import type { IdSource } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/agent-loop/testing'
import type { Clock } from '@bowline/llm'
import type { SessionStore } from '../../contract/session-store.ts'
import { ProgramTime } from '../programs/program-time.ts'
import { untilQuiet } from '../until-quiet.ts'
import { PointCounter, type CrashPlan, type PointKind } from './crash-plan.ts'
import type { CrashProcess } from './crash-process.ts'
import { OutsideWorld } from './outside-world.ts'
import { RunOwners } from './run-owners.ts'
import { seededRandom } from './seeded-random.ts'
import type { AcknowledgedInput } from './types.ts'

/** What does not end by then goes on with the next timer. */
const mostTurns = 20_000

/** One run of a scenario: the time, the store and the world that all its processes share, and what happened. */
export class Scene {
  readonly clock: Clock
  readonly #time = new ProgramTime(0)
  readonly #asked: (() => Promise<void>)[] = []
  readonly ids: IdSource = fakeIds()
  readonly random: () => number
  readonly store: SessionStore
  readonly plan: CrashPlan
  readonly counter: PointCounter
  readonly trace: string[] = []
  readonly world = new OutsideWorld((process, what) => this.log(process, what))
  readonly owners = new RunOwners()
  readonly staleWrites: string[] = []
  readonly acceptedRuns = new Set<string>()
  readonly acceptedAnswers = new Map<string, number>()
  acceptedInputs: readonly AcknowledgedInput[] = []
  /** The process whose points count. */
  watched: CrashProcess | undefined
  /** The watched process was struck, and nobody has dealt with that yet. */
  isStruck = false
  /** Called when a process takes over a run that another one had. */
  onTakeover: () => void = () => undefined

  constructor(store: SessionStore, plan: CrashPlan, seed: number) {
    this.store = store
    this.plan = plan
    this.counter = new PointCounter(plan)
    this.random = seededRandom(seed)
    this.clock = this.#time.clock
  }

  /** Lets time pass. A timer runs when all that the one before set off has happened, in the store too. */
  pass(ms: number): Promise<void> {
    return this.#time.pass(ms, () => this.#settle())
  }

  /** Asks the store when nothing else happens any more, so that equal scenes go equal ways on a store that takes its time. */
  ask<T>(process: CrashProcess, go: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#asked.push(async () => {
      // What a dead process asked is not done any more.
      if (process.state !== 'dead') await go().then(resolve, reject)
    })
    return promise
  }

  async #settle(): Promise<void> {
    for (let turn = 0; turn < mostTurns; turn++) {
      await untilQuiet()
      const answer = this.#asked.shift()
      if (!answer) return
      await answer()
    }
  }

  log(process: CrashProcess, what: string): void {
    this.trace.push(`${this.clock.now()} ms ${process.name} ${what}`)
  }

  /** Something that could be the last that a process does. True: its answer from the store is lost. */
  async point(process: CrashProcess, kind: PointKind, what: string): Promise<boolean> {
    await process.pass(kind.endsWith('commit') ? 'store' : 'code')
    if (kind !== 'after-commit' && kind !== 'after-claim') this.log(process, `${kind} ${what}`)
    if (process !== this.watched || !this.counter.reach(kind, what)) return false
    this.log(process, `is struck: ${this.plan.mode}`)
    if (this.plan.mode === 'lost-response') return true
    this.isStruck = true
    if (this.plan.mode === 'kill') process.kill()
    else process.stop()
    // Before its commit a stopped process still has it in its hands; what it hears comes after its timers.
    await process.pass(kind === 'before-commit' ? 'store' : 'code')
    return false
  }
}
