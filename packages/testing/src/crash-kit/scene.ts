import type { IdSource } from '@bowline/agent-loop'
import { fakeIds } from '../loop/doubles.ts'
import type { Clock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { ProgramTime } from '../program-time.ts'
import { untilQuiet } from '../until-quiet.ts'
import { PointCounter, type CrashPlan, type PointKind } from './crash-plan.ts'
import type { CrashProcess } from './crash-process.ts'
import { OutsideWorld } from './outside-world.ts'
import { RunOwners } from './run-owners.ts'
import { seededRandom } from './seeded-random.ts'
import { StoreFaults, type PlannedFault } from './store-faults.ts'
import { readSessions } from './read-end.ts'
import type { AcknowledgedInput, CrashEnd } from './types.ts'

/** Limit of turns of the event loop. Work that takes longer continues at the next timer. */
const mostTurns = 20_000

/** A claim of a run of a process that is alive. */
export interface HastyClaim {
  readonly runId: string
  readonly by: string
  readonly from: string
}

/** Time of a scene. */
export interface SceneTime {
  readonly clock: Clock
  /** Lets time pass. Simulated time waits with `settle` for the effects of each timer. */
  readonly pass: (ms: number, settle: () => Promise<unknown>) => Promise<void>
}

/** One run of a scenario: time, store and world that its processes share, and the trace. */
export class Scene {
  readonly clock: Clock
  readonly #time: SceneTime
  readonly #asked: (() => Promise<void>)[] = []
  readonly #counting = new Set<() => void>()
  readonly ids: IdSource = fakeIds()
  readonly random: () => number
  readonly store: SessionStore
  readonly plan: CrashPlan
  readonly counter: PointCounter
  readonly faults: StoreFaults
  readonly trace: string[] = []
  readonly world = new OutsideWorld((process, what) => this.log(process, what))
  readonly owners = new RunOwners()
  readonly staleWrites: string[] = []
  /** Claims of runs that another process, which is alive, was executing. */
  readonly hastyClaims: HastyClaim[] = []
  readonly acceptedRuns = new Set<string>()
  readonly acceptedAnswers = new Map<string, number>()
  acceptedInputs: readonly AcknowledgedInput[] = []
  modelCalls = 0
  /** The process whose points are counted. */
  watched: CrashProcess | undefined
  /** True from the disturbance of the watched process until it is replaced. */
  isStruck = false
  /** Called when a process takes over a run of another process. */
  onTakeover: () => void = () => undefined

  constructor(store: SessionStore, plan: CrashPlan, faults: readonly PlannedFault[], seed: number, time: SceneTime = new ProgramTime(0)) {
    this.#time = time
    this.store = store
    this.plan = plan
    this.counter = new PointCounter(plan)
    this.faults = new StoreFaults(faults)
    this.random = seededRandom(seed)
    this.clock = time.clock
  }

  /** Lets time pass. Before a timer runs, all work that the previous timer started has finished, store calls included. */
  pass(ms: number): Promise<void> {
    return this.#time.pass(ms, () => this.#settle())
  }

  /** Calls the store when all other work has finished. Equal scenes then take equal paths, even with a slow store. */
  ask<T>(process: CrashProcess, go: () => Promise<T>): Promise<T> {
    // Real time has no order to keep.
    if (!(this.#time instanceof ProgramTime)) return go()
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#asked.push(async () => {
      // Store calls of a dead process are dropped.
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
      for (const count of this.#counting) count()
    }
  }

  /** Resolves when the store has executed so many calls. In real time it does not count them. */
  afterCalls(calls: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    let left = calls
    const count = (): void => {
      left -= 1
      if (left > 0) return
      this.#counting.delete(count)
      resolve()
    }
    this.#counting.add(count)
    return promise
  }

  /** Reads the end of the scene. `stuck`: the reason why it is not at rest. */
  async look(stuck: string | undefined): Promise<CrashEnd> {
    const { store, staleWrites, acceptedRuns, acceptedAnswers, acceptedInputs, modelCalls, world } = this
    return {
      world: { effects: world.effects, notes: world.notes },
      sessions: await readSessions(store),
      acknowledged: { runs: [...acceptedRuns], answers: acceptedAnswers, inputs: acceptedInputs },
      modelCalls,
      staleWrites,
      ...(stuck === undefined ? {} : { stuck }),
    }
  }

  log(process: CrashProcess, what: string): void {
    this.trace.push(`${this.clock.now()} ms ${process.name} ${what}`)
  }

  /** Marks a point at which the process may be disturbed. */
  async point(process: CrashProcess, kind: PointKind, what: string): Promise<void> {
    await process.pass(kind.endsWith('commit') ? 'store' : 'code')
    if (kind === 'model-call') this.modelCalls += 1
    if (kind !== 'after-commit' && kind !== 'after-claim') this.log(process, `${kind} ${what}`)
    if (process !== this.watched || !this.counter.reach(kind, what)) return
    this.log(process, `is struck: ${this.plan.mode}`)
    this.isStruck = true
    if (this.plan.mode === 'kill') process.kill()
    else process.stop()
    // At `before-commit` the process has not sent its commit, and sends it as soon as it wakes. Answers come only after its
    // timers.
    await process.pass(kind === 'before-commit' ? 'store' : 'code')
  }
}
