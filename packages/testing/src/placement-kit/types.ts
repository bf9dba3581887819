import type { Clock } from '@bowline/llm'
import type { Runtime, SessionStore } from '@bowline/sessions'
import type { TestRunner } from '../runner.ts'

/** A host and the programs that `testPlacement` plays over it. */
export interface PlacementKitOptions {
  /** Name of the host in the titles of the tests. */
  readonly name: string
  /** Creates a host without workers. Called for each program. */
  readonly host: (surroundings: HostSurroundings) => PlacementHost | Promise<PlacementHost>
  /** Number of programs. Default 100. */
  readonly programs?: number
  /** Seed of the first program. The next program has the next seed. Default 1. */
  readonly seed?: number
  /** Returns an empty store for each program. All workers share it. Default: a memory store. */
  readonly store?: () => SessionStore | Promise<SessionStore>
  /**
   * `system` (default): real time, with tools and timers of less than a second. `simulated`: the clock of the kit, for a host that
   * waits for nothing else. Equal seeds then give equal programs.
   */
  readonly time?: 'system' | 'simulated'
  /** Time in ms within which the host begins due work, and goes on with the work of a killed worker. Default 5,000. */
  readonly withinMs?: number
  /** Default: the globals `describe` and `it`. */
  readonly runner?: TestRunner
}

/** Facts for the host of one program. */
export interface HostSurroundings {
  /** Clock of the program. */
  readonly clock: Clock
  /** Name of the program, for queues and the like. The keys of its sessions begin with it. */
  readonly program: string
}

/** Decides which worker works on which session. */
export interface PlacementHost {
  /**
   * Gives the host a runtime with placement `host`. The host must add a callback with `runtime.onWake` and call `runtime.work()`
   * for the sessions. The kit starts the runtime.
   */
  addWorker(runtime: Runtime): PlacementWorker | Promise<PlacementWorker>
  /** Ends the engine and starts it again, if the host has one. Its workers live on. */
  restart?(): Promise<void>
  /** Called at the end of a program, when the work is done. */
  stop(): Promise<void>
}

/** A worker, as its host sees it. */
export interface PlacementWorker {
  /**
   * Cuts the connection of the host to the worker, which is dead or frozen and answers no call. The host must go on with its sessions
   * elsewhere, as it does in production.
   */
  kill(): void | Promise<void>
  /** Gives the worker no more sessions. The kit then stops its runtime, which yields the sessions that it works on. */
  stop(): void | Promise<void>
}
