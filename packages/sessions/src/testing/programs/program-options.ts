import type { SessionStore } from '../../contract/session-store.ts'
import type { Runtime, RuntimeOptions } from '../../runtime/types.ts'
import type { ProgramInvariant } from './program-end.ts'
import type { Feature } from './program.ts'

/** A planted mistake that proves that the invariants detect it. */
export interface ProgramFault {
  readonly name: string
  /** Between the runtime and its store. */
  readonly store?: (store: SessionStore) => SessionStore
  /** In the place of `createRuntime`. */
  readonly runtime?: (options: RuntimeOptions) => Runtime
}

/** Store, invariants and faults of `runProgram`. */
export interface RunProgramOptions {
  /** A store that is not open. Default: a memory store. */
  readonly store?: () => Promise<SessionStore> | SessionStore
  /** Opens the store again after its process has died; the given one is closed. Default: the same store. */
  readonly reopen?: (store: SessionStore) => Promise<SessionStore>
  /** Default: `programInvariants`. */
  readonly invariants?: readonly ProgramInvariant[]
  /** What goes wrong, and when. Default: nothing. */
  readonly faults?: readonly ProgramFault[]
  /** Within which the sessions of the program lie in its store. Default `program`. */
  readonly namespace?: string
}

/** Number, seed and features of the programs to explore, with their store and bounds. */
export interface ExploreProgramsOptions {
  /**
   * A store that is not open. It may hold data of earlier programs: each program has its own namespace. Called for
   * each program, and often for one that fails. Default: a memory store.
   */
  readonly store?: () => Promise<SessionStore> | SessionStore
  /** Opens the store again after its process has died; the given one is closed. Default: the same store. */
  readonly reopen?: (store: SessionStore) => Promise<SessionStore>
  /** How many programs are drawn. */
  readonly programs: number
  /** Seed of the first program. Each further program has the next integer. */
  readonly seed: number
  /** Features that programs may use. Default: all. */
  readonly features?: readonly Feature[]
  /** Mistakes that are planted. Default: none. */
  readonly faults?: readonly ProgramFault[]
  /** Default: `programInvariants`. */
  readonly invariants?: readonly ProgramInvariant[]
  /** Stops when so many programs have failed. Default 10. */
  readonly maxFailures?: number
  /** How many smaller programs are tried for each that fails; 0: none. Default 300. */
  readonly shrinkTries?: number
}
