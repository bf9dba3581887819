import { fakeIds } from '@bowline/testing'
import type { Clock } from '@bowline/llm'
import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { Runtime } from '../../../src/runtime/types.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import { SessionError } from '../../../src/errors.ts'
import { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import { OutsideWorld } from '../../../../testing/src/crash-kit/outside-world.ts'
import { RunOwners } from '../../../../testing/src/crash-kit/run-owners.ts'
import { nameOfError, startRuntime } from '../../../../testing/src/crash-kit/start-runtime.ts'
import { recorderOf } from '../history/record-history.ts'
import { Recording, type HistoryLine } from '../history/recording.ts'
import { drawFrom, type Draw } from '../programs/draw.ts'
import type { ModelWorld } from '../programs/plan-model.ts'
import type { ProgramTime } from '../../../../testing/src/program-time.ts'
import { agentsOf } from './agents.ts'
import { Hints } from './hints.ts'
import { LeaseWatch } from './lease-watch.ts'
import { Network } from './network.ts'
import type { PlantedFault } from './options.ts'
import { processStore } from './process-store.ts'
import type { SharedHandle } from './shared-handle.ts'
import type { Simulation } from './simulation.ts'
import { TenantWatch } from './tenant-watch.ts'

const leaseMs = 3_000
const heartbeatMs = 1_000
/** Longest time in ms until a dead process is replaced. */
const longestRestartMs = 2_000
/** Delay in ms before a runtime that failed to start is started again. */
const startAgainMs = 500

export interface Living {
  readonly process: CrashProcess
  readonly runtime: Runtime
  /** The same runtime without recording, because the history would grow with each event of each reader. */
  readonly unrecorded: Runtime
  /** Resolves when the process dies. */
  readonly death: Promise<void>
}

/** The store of a simulation. */
export interface SimulatedStore {
  /** Returns the store for one process, without the network. */
  readonly handle: (process: Clock) => SharedHandle
  /** The store itself, for checks. */
  readonly base: SessionStore
  /** Wraps the store of each process, on its side of the network. */
  readonly client: PlantedFault['client']
}

/** The processes of a simulation, their shared time, and the observations of the run. */
export class Cluster {
  readonly time: ProgramTime
  readonly trace: string[] = []
  readonly history: HistoryLine[] = []
  readonly network: Network
  readonly hints: Hints
  readonly tenants: TenantWatch
  readonly owners = new RunOwners()
  readonly leases = new LeaseWatch()
  readonly staleWrites: string[] = []
  /** Errors in the background, except lost answers. */
  readonly faults: string[] = []
  readonly world = new OutsideWorld((process, what) => this.log(process, what))
  readonly #simulation: Simulation
  readonly #store: SimulatedStore
  readonly #draw: Draw
  readonly #ids = fakeIds()
  readonly #models: ModelWorld = { prompts: [], failed: new Set(), nextCall: 0 }
  readonly #places: Living[] = []
  readonly #all: Living[] = []
  readonly #deaths = new Map<CrashProcess, () => void>()
  #moment = 0
  #replacing = 0

  constructor(simulation: Simulation, time: ProgramTime, store: SimulatedStore) {
    const { seed, disturbances, lostHints, tellsLosses = false, maxRunsPerTenant } = simulation
    this.#simulation = simulation
    this.time = time
    this.#store = store
    this.#draw = drawFrom(seed + 1)
    this.network = new Network({
      time,
      draw: this.#draw,
      disturbances,
      lostHints,
      tellsLosses,
      log: (process, what) => this.log(process, what),
      onKilled: (process) => this.#replace(process),
    })
    this.hints = new Hints(this.network)
    this.tenants = new TenantWatch(store.base, maxRunsPerTenant)
  }

  start(): void {
    for (const place of this.#simulation.clocks.keys()) this.#start(place)
  }

  /** Returns the process at a place, modulo the number of places. */
  at(place: number): Living {
    const living = this.#places[place % this.#places.length]
    if (!living) throw new TypeError('The simulation has no process.')
    return living
  }

  get living(): readonly Living[] {
    return this.#places.filter(({ process }) => process.state !== 'dead')
  }

  /** True if no disturbance is in progress and no process has to be replaced. */
  get isCalm(): boolean {
    return this.#replacing === 0 && !this.network.isDisturbed
  }

  log(who: CrashProcess | string, what: string): void {
    this.trace.push(`${this.time.passed} ${typeof who === 'string' ? who : who.name} ${what}`)
  }

  /** Kills all processes. */
  clear(): void {
    for (const { process } of this.#all) process.kill()
    this.time.clear()
  }

  #replace(dead: CrashProcess): void {
    const place = this.#places.findIndex(({ process }) => process === dead)
    const { clock, now } = this.time
    this.#deaths.get(dead)?.()
    this.#replacing += 1
    clock.setTimer(now + this.#draw.whole(longestRestartMs), () => {
      this.#replacing -= 1
      this.#start(place)
    })
  }

  #start(place: number): void {
    const { clocks, modelMs, deltaMs, maxRunsPerTenant } = this.#simulation
    const process = new CrashProcess(`process-${this.#all.length + 1}`, skewed(this.time.clock, clocks[place] ?? 0))
    this.log(process, `starts at place ${place}`)
    const recorder = recorderOf(
      new Recording({
        process: process.name,
        keep: (line) => void this.history.push(line),
        now: () => ++this.#moment,
        didNothing: (error) => this.network.isUndone(error),
      }),
    )
    const { clock } = process
    const reached = processStore({ ...this, log: (each, what) => this.log(each, what) }, process, this.#store.handle(clock))
    const store = recorder.store(this.leases.listen(this.#store.client?.(reached) ?? reached, () => this.time.passed))
    const random = (): number => this.#draw.whole(1000) / 1000
    const agents = agentsOf({ world: this.world.of(process), models: this.#models, modelMs, deltaMs, clock, random })
    const runtime = createRuntime({
      agents,
      store,
      clock,
      ids: this.#ids,
      lease: { ttlMs: leaseMs, heartbeatMs },
      ...(maxRunsPerTenant !== undefined && { maxRunsPerTenant }),
      onError: (error, { during }) => this.#noteFault(process, during, error),
    })
    const { promise: death, resolve } = Promise.withResolvers<void>()
    this.#deaths.set(process, resolve)
    const living = { process, death, runtime: recorder.runtime(runtime), unrecorded: runtime }
    this.#places[place] = living
    this.#all.push(living)
    void this.#startRuntime(process, runtime)
  }

  /** Starts the runtime. If the store is unavailable, tries again later, as a supervisor does. */
  async #startRuntime(process: CrashProcess, runtime: Runtime): Promise<void> {
    try {
      await startRuntime(runtime)
    } catch (error) {
      this.#noteFault(process, 'start', error)
      if (SessionError.isInstance(error) && error.retryable)
        process.clock.setTimer(process.clock.now() + startAgainMs, () => void this.#startRuntime(process, runtime))
    }
  }

  /** Logs the error. An unavailable store is not a fault of the runtime. */
  #noteFault(process: CrashProcess, during: string, error: unknown): void {
    this.log(process, `fault during ${during}: ${nameOfError(error)}`)
    if (!SessionError.isInstance(error) || !error.retryable)
      this.faults.push(`${process.name} failed during ${during}: ${nameOfError(error)}`)
  }
}

/** Returns a clock that differs by this time, but runs at the right speed. */
function skewed(clock: Clock, byMs: number): Clock {
  return { now: () => clock.now() + byMs, setTimer: (atMs, run, options) => clock.setTimer(atMs - byMs, run, options) }
}
