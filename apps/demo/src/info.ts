/** What the page's header tells about the server: `GET /demo/info`. */
export interface DemoInfo {
  readonly provider: string
  readonly modelId: string
  readonly offline: boolean
  /** Where the provider's key comes from. */
  readonly keyVariable?: string
  readonly problem?: { readonly variable: string; readonly message: string }
  /** Whether the server may be killed from the page. */
  readonly canKill: boolean
}
