/** The methods of a client or cluster of the package `redis` that the store uses. */
export interface RedisClient {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  evalSha(sha: string, options: ScriptArguments): Promise<unknown>
  eval(text: string, options: ScriptArguments): Promise<unknown>
  info(section?: string): Promise<unknown>
  /** Master nodes, only for a cluster. */
  readonly masters?: readonly object[]
  nodeClient?(master: never): Promise<Pick<RedisClient, 'info'>>
}

/** Keys and arguments of a Redis script. */
export interface ScriptArguments {
  keys: string[]
  arguments: string[]
}

/** Where a client comes from. */
export interface ClientSource {
  /** Returns a client that is connected and checked. Rejects with a `SessionError` if there is none at that time. */
  ready(untilMs: number): Promise<RedisClient>
  /** The client has failed: it is not returned again. */
  drop(client: RedisClient): void
  close(): Promise<void>
}
