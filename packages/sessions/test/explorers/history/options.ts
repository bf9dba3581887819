/** Process name, sink and clock of a history recorder. */
export interface RecordOptions {
  /** Name of the process. Must be unique among all processes of the history, earlier starts of this one included. */
  readonly process: string
  /** Stores a line, which has no line feed. Must have stored it when it returns, because the process may be killed right after. */
  readonly write: (line: string) => void
  /**
   * Returns a number that never falls and that all processes of the history share. Default: milliseconds of the monotonic clock
   * of this machine.
   */
  readonly now?: () => number
  /**
   * Returns true if a call that failed with this error certainly had no effect. Default: never. Each other failed call may have happened
   * at any later time, and makes the search for an order longer.
   */
  readonly didNothing?: (error: unknown) => boolean
}

/** Strictness and search bound of `checkHistory`. */
export interface CheckHistoryOptions {
  /** True: the history ended at rest, so each accepted input must be answered or waiting. Default false. */
  readonly atRest?: boolean
  /** Limit of steps tried per session in the search for an order. Default 1,000,000. */
  readonly maxTries?: number
}
