import type { StoreHint } from '../../contract/session-store.ts'
import type { Kept, ProcessCheck } from './claim.ts'
import type { Steps } from './statement.ts'

type Run = <T>(makeSteps: () => Steps<T>) => T | Promise<T>

/**
 * Runs steps on a database, synchronously or not. Rejects with errors of the store. `makeSteps` may be called again for another
 * attempt.
 */
export interface SqlDriver {
  readonly namespace: string
  /** Time of the store, if the clock of this process is its clock. Null: the server's clock is. */
  readonly now: () => number | null
  /** Converts a time of the store to the clock of this process. `now` is the present time of the store. */
  readonly localTime: (at: number, now: number) => number
  /** True if other processes may write at the same time. */
  readonly isShared: boolean
  /** Way of detecting the loss of a run: by its lease or by its owner. */
  readonly loss: 'lease' | 'owner'
  /** True if this process may claim now. */
  readonly mayClaim: () => boolean
  /** Additional condition of a claim. */
  readonly processCheck: () => ProcessCheck | undefined
  /** Notifies other processes of a commit. */
  readonly tell: (hints: readonly StoreHint[], seq: number) => void
  /** Runs the steps as one transaction, which is rolled back if anything throws. */
  readonly transaction: Run
  /**
   * Like `transaction`, but a power failure of this machine may undo it: it need not wait for the local disk, and the next
   * transaction makes it durable. A database server must wait: it may fail while this process lives, and the epoch of a lost claim
   * would be given twice.
   */
  readonly provisional: Run
  /**
   * Like `provisional`, for steps that wait for locked rows. If that takes long, everything is undone and the steps run again and
   * skip such rows.
   */
  readonly patient: <T>(makeSteps: (kept: Kept) => Steps<T>) => T | Promise<T>
  /** Runs one writing statement. Reads after it see what is stored by then. */
  readonly statement: Run
  /** Runs reads on one snapshot. */
  readonly snapshot: Run
  /** Runs a single read, or reads that need no common snapshot. */
  readonly read: Run
  /** True for a missing referenced row or a duplicate key; false for other failures of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}
