/** Process name, sink and clock of a history recorder. */
export interface RecordOptions {
  /** Names the process. Must differ from the name of every other process of the history, and of every earlier start of this one. */
  readonly process: string
  /** Keeps a line, without its line feed. Must have kept it when it returns: a process may be killed right after. */
  readonly write: (line: string) => void
  /**
   * A number that never falls and that all processes of the history share. Default: milliseconds of the monotonic clock of this
   * machine.
   */
  readonly now?: () => number
}

/** Strictness and search bound of `checkHistory`. */
export interface CheckHistoryOptions {
  /** Nothing happened any more when the history ended: each accepted input has to be answered, or waits. Default false. */
  readonly atRest?: boolean
  /** Steps that the search for an order tries in each session before it is given up. Default 1,000,000. */
  readonly maxTries?: number
}
