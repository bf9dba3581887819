/** Redis server, token and limits of a test server. */
export interface KvServerOptions {
  /** The Redis server that executes the commands. */
  readonly redisUrl: string
  /** Default: one that nobody can guess. */
  readonly token?: string
  /** Larger requests are refused. Default 10,000,000. */
  readonly maxRequestBytes?: number
}

/** A failure of one request to the test server. */
export type KvFault =
  /** Its connection is lost `before` the command is executed, or `after` it. `cut`: in the middle of the answer. */
  | { readonly lose: 'before' | 'after' | 'cut' }
  /** It is refused, and not executed. */
  | { readonly status: number; readonly retryAfter?: string; readonly body?: string }
  /** It is executed when this resolves. The answer comes then, if the client still waits. */
  | { readonly until: Promise<unknown> }
  /** Nothing goes wrong. */
  | { readonly pass: true }
