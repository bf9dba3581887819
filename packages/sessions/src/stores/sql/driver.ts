import type { StoreHint } from '../../contract/session-store.ts'
import type { Kept, ProcessCheck } from './claim.ts'
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
   * Like `transaction`, but a power failure of this machine may undo it: it need not wait for the local disk, and the next
   * transaction makes it durable. A database server must wait: it may fail while this process lives, and a forgotten claim
   * would give its epoch twice.
   */
  readonly provisional: Run
  /**
   * Like `provisional`, for steps that wait for rows which others keep. If that takes long, all is undone and the steps are
   * made again, to pass over such rows.
   */
  readonly patient: <T>(makeSteps: (kept: Kept) => Steps<T>) => T | Promise<T>
  /** One statement that writes. Reads after it see what is stored by then. */
  readonly statement: Run
  /** Reads that all see the same. */
  readonly snapshot: Run
  /** Reads that need not see the same, or one read. */
  readonly read: Run
  /** Tells a reference to nothing, or a second row of one key, from a fault of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}
