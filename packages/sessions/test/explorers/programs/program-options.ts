import type { SessionStore } from '../../../src/contract/session-store.ts'
import type { Runtime, RuntimeOptions } from '../../../src/runtime/types.ts'
import type { ProgramInvariant } from './program-end.ts'
import type { Feature } from './program.ts'

/** A planted mistake that proves that the invariants detect it. */
export interface ProgramFault {
  readonly name: string
  /** Wraps the store of the runtime. */
  readonly store?: (store: SessionStore) => SessionStore
  /** Replaces `createRuntime`. */
  readonly runtime?: (options: RuntimeOptions) => Runtime
}

/** Store, invariants and faults of `runProgram`. */
export interface RunProgramOptions {
  /** Returns a store that is not open. Default: a memory store. */
  readonly store?: () => Promise<SessionStore> | SessionStore
  /** Opens the store again after its process has died; the given one is closed. Default: the same store. */
  readonly reopen?: (store: SessionStore) => Promise<SessionStore>
  /** Default: `programInvariants`. */
  readonly invariants?: readonly ProgramInvariant[]
  /** Planted faults. Default: none. */
  readonly faults?: readonly ProgramFault[]
  /** Namespace of the program in its store. Default `program`. */
  readonly namespace?: string
}

/** Number, seed and features of the programs to explore, with their store and bounds. */
export interface ExploreProgramsOptions {
  /**
   * Returns a store that is not open. It may hold data of earlier programs, because each program has its own namespace. Called
   * for each program, and many times for a failing one. Default: a memory store.
   */
  readonly store?: () => Promise<SessionStore> | SessionStore
  /** Opens the store again after its process has died; the given one is closed. Default: the same store. */
  readonly reopen?: (store: SessionStore) => Promise<SessionStore>
  /** Number of programs to draw. */
  readonly programs: number
  /** Seed of the first program. Each further program has the next integer. */
  readonly seed: number
  /** Features that programs may use. Default: all. */
  readonly features?: readonly Feature[]
  /** Planted faults. Default: none. */
  readonly faults?: readonly ProgramFault[]
  /** Default: `programInvariants`. */
  readonly invariants?: readonly ProgramInvariant[]
  /** Stops after this number of failed programs. Default 10. */
  readonly maxFailures?: number
  /** Number of smaller programs to try for each failing one; 0: none. Default 300. */
  readonly shrinkTries?: number
}
