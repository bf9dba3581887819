import { createRuntime, SessionError } from '@bowline/sessions'
import type { Runtime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import type { CrashPlan, CrashPoint } from './crash-plan.ts'
import { CrashProcess } from './crash-process.ts'
import { isAtRest } from './read-end.ts'
import { Scene } from './scene.ts'
import { nameOfError, startRuntime } from './start-runtime.ts'
import type { PlannedFault, StoreCall } from './store-faults.ts'
import type { CrashEnd, CrashScenario, World } from './types.ts'
import { watchedAgents } from './watched-agents.ts'
import { watchedRuntime } from './watched-runtime.ts'
import { watchedStore } from './watched-store.ts'

const stepMs = 250
/** A client tries for ten seconds. */
const clientWaitMs = 500
const mostTries = 20
const notTheSame =
  'The scenario did not reach the crash point again because its steps differ between runs. Use only the given clock, ids and world, not the time of the machine.'

export interface ScenarioRun {
  readonly end: CrashEnd
  /** The points of each life: before the first crash, after it, and after the second. */
  readonly lives: readonly (readonly CrashPoint[])[]
  /** Calls to the store until the scenario was at rest. */
  readonly calls: readonly StoreCall[]
  readonly trace: readonly string[]
}

export interface ScenarioRunOptions {
  readonly plan: CrashPlan
  /** Faults of the store while its process lives on. Default: none. */
  readonly faults?: readonly PlannedFault[]
  readonly seed: number
  readonly restWithinMs: number
}

/** Runs a scenario until it is at rest, with the crashes of the plan, in as many processes as needed. */
export async function runScenario(scenario: CrashScenario, options: ScenarioRunOptions): Promise<ScenarioRun> {
  const scene = new Scene(scenario.store?.() ?? memoryStore(), options.plan, options.faults ?? [], options.seed)
  const stage = new Stage(scenario, scene, options.restWithinMs)
  const stuck = await stage.play()
  const calls = [...scene.faults.calls]
  const end = await scene.look(stuck)
  await stage.clear()
  if (scene.counter.isUnfinished || scene.faults.isUnfinished) {
    throw new SessionError('conflict', notTheSame)
  }
  return { end, lives: scene.counter.lives, calls, trace: scene.trace }
}

interface LiveProcess {
  readonly process: CrashProcess
  readonly runtime: Runtime
  readonly release: () => Promise<void>
  /** True if the process was stopped. Its client may then fail, because the process has lost its runs. */
  isZombie: boolean
  isDone: boolean
  failure: unknown
}

/** The processes of one run of a scenario, with their shared time. */
class Stage {
  readonly #scenario: CrashScenario
  readonly #scene: Scene
  readonly #restWithinMs: number
  readonly #all: LiveProcess[] = []

  constructor(scenario: CrashScenario, scene: Scene, restWithinMs: number) {
    this.#scenario = scenario
    this.#scene = scene
    this.#restWithinMs = restWithinMs
    scene.onTakeover = () => this.#wakeZombies()
  }

  /** Runs the scenario. Returns undefined if everything has come to rest, else the reason. */
  async play(): Promise<string | undefined> {
    this.#start()
    const until = this.#scene.clock.now() + this.#restWithinMs
    for (let waitMs = 0; this.#scene.clock.now() < until; waitMs = stepMs) {
      await this.#scene.pass(waitMs)
      for (const { process } of this.#all) process.finishWaking()
      if (this.#scene.isStruck) await this.#replaceStruck()
      else if (await this.#isOver()) return this.#firstFailure()
    }
    return (
      this.#firstFailure() ?? `the scenario is not at rest after ${this.#restWithinMs} ms: a run is still active or a client still waits`
    )
  }

  /** Stops all live processes, whatever they are doing. */
  async clear(): Promise<void> {
    this.#wakeZombies()
    const stops = this.#living.map(({ runtime }) => runtime.stop({ graceMs: 0 }))
    let isStopped = false
    void Promise.allSettled(stops).then(() => (isStopped = true))
    for (let steps = 0; !isStopped && steps < 100; steps++) {
      await this.#scene.pass(stepMs)
      for (const { process } of this.#all) process.finishWaking()
    }
    for (const { process } of this.#all) process.kill()
  }

  #start(): void {
    const { clock, ids } = this.#scene
    const process = new CrashProcess(`process-${this.#all.length + 1}`, clock)
    this.#scene.watched = process
    this.#scene.log(process, 'starts')
    const { store, release } = watchedStore(this.#scene, process)
    const world = this.#scene.world.of(process)
    const runtime = (this.#scenario.runtime ?? createRuntime)({
      agents: watchedAgents(this.#scene, process, this.#scenario.agents(world)),
      store,
      clock: process.clock,
      ids,
      onError: (error, { during }) => this.#scene.log(process, `fault during ${during}: ${nameOfError(error)}`),
    })
    const live: LiveProcess = { process, runtime, release, isZombie: false, isDone: false, failure: undefined }
    this.#all.push(live)
    startRuntime(runtime)
      .then(() => this.#drive(watchedRuntime(this.#scene, runtime), world))
      .then(
        () => this.#scene.log(process, 'the client is done'),
        (error: unknown) => {
          live.failure = error
          this.#scene.log(process, `the client fails: ${nameOfError(error)}`)
        },
      )
      .finally(() => (live.isDone = true))
  }

  /** A client that gets an error of the store waits and starts again, as after a crash. */
  async #drive(runtime: Runtime, world: World): Promise<void> {
    this.#scene.faults.isCounting = true
    for (let tries = 1; ; tries++) {
      try {
        return await this.#scenario.drive(runtime, world)
      } catch (error) {
        const isOfStore = SessionError.isInstance(error) && (error.retryable || error.code === 'store-full')
        if (!isOfStore || tries === mostTries) throw error
        await world.sleep(clientWaitMs)
      }
    }
  }

  /** Replaces the disturbed process by another one. */
  async #replaceStruck(): Promise<void> {
    this.#scene.isStruck = false
    const struck = this.#all.at(-1)
    if (struck?.process.state === 'dead') await struck.release()
    else if (struck) struck.isZombie = true
    this.#start()
  }

  async #isOver(): Promise<boolean> {
    const awake = this.#living.filter(({ process }) => process.state !== 'stopped')
    if (!awake.every(({ isDone }) => isDone)) return false
    if (!(await isAtRest(this.#scene.store))) return false
    if (awake.length === this.#living.length) return true
    this.#wakeZombies()
    return false
  }

  #wakeZombies(): void {
    for (const { process } of this.#all) {
      if (process.state !== 'stopped') continue
      this.#scene.log(process, 'goes on')
      process.wake()
    }
  }

  /** Returns the first failure of a client. The client of a process that lost everything may fail. */
  #firstFailure(): string | undefined {
    const failed = this.#living.find(({ isZombie, failure }) => !isZombie && failure !== undefined)
    return failed && `the client of ${failed.process.name} failed: ${nameOfError(failed.failure)}`
  }

  get #living(): readonly LiveProcess[] {
    return this.#all.filter(({ process }) => process.state !== 'dead')
  }
}
