import type { StoreHint } from '../../contract/session-store.ts'
import type { ProcessCheck } from './claim.ts'
import type { Steps } from './statement.ts'

type Run = <T>(makeSteps: () => Steps<T>) => T | Promise<T>

/**
 * How a database runs steps: at once or in time. Fails with errors of the store. The steps may be made more than once, for
 * another attempt.
 */
export interface SqlDriver {
  readonly namespace: string
  /** The time, where the clock of this process is that of the store. Null: the clock of the server is. */
  readonly now: () => number | null
  /** When it will be `at` for the store, by the clock of this process. */
  readonly localTime: (at: number, now: number) => number
  /** Whether others write at the same time. */
  readonly isShared: boolean
  /** How a run is known to be lost. */
  readonly loss: 'lease' | 'owner'
  /** Whether this process may claim now. */
  readonly mayClaim: () => boolean
  /** What a claim depends on besides. */
  readonly processCheck: () => ProcessCheck | undefined
  /** Tells other processes what was committed. */
  readonly tell: (hints: readonly StoreHint[], seq: number) => void
  /** All of it or, when it throws, nothing. */
  readonly transaction: Run
  /**
   * As `transaction`, but what ends this process too, as a power failure does, may take it back: it need not wait for a disk
   * of this machine. The next transaction does so for it. A server may fail alone: then the epoch of a claim that it forgot
   * would be given twice.
   */
  readonly provisional: Run
  /** One statement that writes. Reads after it see what is stored by then. */
  readonly statement: Run
  /** Reads that all see the same. */
  readonly snapshot: Run
  /** Reads that need not see the same, or one read. */
  readonly read: Run
  /** Tells a reference to nothing, or a second row of one key, from a fault of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}
