/** Redis server, token and limits of a test server. */
export interface KvServerOptions {
  /** URL of the Redis server that executes the commands. */
  readonly redisUrl: string
  /** Bearer token. Default: random. */
  readonly token?: string
  /** Limit of the request size in bytes. Larger requests are refused. Default 10,000,000. */
  readonly maxRequestBytes?: number
}

/** A failure of one request to the test server. */
export type KvFault =
  /** The connection is lost `before` or `after` the command is executed. `cut`: it is lost in the middle of the answer. */
  | { readonly lose: 'before' | 'after' | 'cut' }
  /** The request is refused and not executed. */
  | { readonly status: number; readonly retryAfter?: string; readonly body?: string }
  /** The request is executed after this resolves, and answered if the client still waits. */
  | { readonly until: Promise<unknown> }
  /** The request goes through. */
  | { readonly pass: true }
