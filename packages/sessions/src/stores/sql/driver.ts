import type { Steps } from './statement.ts'

/** How a database runs steps: at once or in time. Both fail with errors of the store. */
export interface SqlDriver {
  readonly namespace: string
  readonly now: () => number
  /** All of it or, when it throws, nothing. */
  readonly transaction: <T>(steps: Steps<T>) => T | Promise<T>
  readonly read: <T>(steps: Steps<T>) => T | Promise<T>
  /** Tells a reference to nothing, or a second row of one key, from a fault of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}
