export interface KvServerOptions {
  /** The Redis server that executes the commands. */
  readonly redisUrl: string
  /** Default: one that nobody can guess. */
  readonly token?: string
  /** Larger requests are refused. Default 10,000,000. */
  readonly maxRequestBytes?: number
}
