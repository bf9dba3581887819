/** The methods of a client or cluster of the package `redis` that the store uses. */
export interface RedisClient {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  evalSha(sha: string, options: ScriptArguments): Promise<unknown>
  eval(text: string, options: ScriptArguments): Promise<unknown>
  info(section?: string): Promise<unknown>
  /** Primary nodes. Only a cluster has this. */
  readonly masters?: readonly object[]
  nodeClient?(master: never): Promise<Pick<RedisClient, 'info'>>
}

/** Keys and arguments of a Redis script. */
export interface ScriptArguments {
  keys: string[]
  arguments: string[]
}

/** Source of a client. */
export interface ClientSource {
  /** Returns a connected and checked client. Rejects with a `SessionError` if there is none by `untilMs`. */
  ready(untilMs: number): Promise<RedisClient>
  /** Reports that the client has failed: it is not returned again. */
  drop(client: RedisClient): void
  close(): Promise<void>
}
