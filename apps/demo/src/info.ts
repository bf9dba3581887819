/** What the page's header tells about the server: `GET /demo/info`, with `?session=` about the run of that session too. */
export interface DemoInfo {
  readonly provider: string
  readonly modelId: string
  readonly offline: boolean
  /** Where the provider's key comes from. */
  readonly keyVariable?: string
  readonly problem?: { readonly variable: string; readonly message: string }
  /** Whether the server may be killed from the page. */
  readonly canKill: boolean
  /** The server processes. Absent if there is only one ever. */
  readonly servers?: readonly ServerInfo[]
}

export interface ServerInfo {
  readonly name: string
  /** Absent while it is down. */
  readonly pid?: number
  /** Whether it executes the run of the session that was asked for. */
  readonly isOwner: boolean
}
