/**
 * Features of the page's host in addition to the API: `GET /studio/info`, with `?session=` also about the run of that session. The
 * host is the demo, or the small server between the page and a remote Bowline server.
 */
export interface StudioInfo {
  /** Model that answers. Absent if the host does not know it. */
  readonly model?: ModelInfo
  /** Environment variable that holds the key of the provider. */
  readonly keyVariable?: string
  readonly problem?: { readonly variable: string; readonly message: string }
  /** Address of the Bowline server. Absent if it is the host itself. */
  readonly server?: string
  /** True if the page may kill the server. */
  readonly canKill: boolean
  /** Server processes. Absent if there is always exactly one. */
  readonly servers?: readonly ServerInfo[]
  /** Phrases that the page offers as inputs. */
  readonly phrases?: readonly Phrase[]
  /** Numbers of external effects by name, such as `payments`. */
  readonly effects?: Readonly<Record<string, number>>
}

export interface ModelInfo {
  readonly provider: string
  readonly modelId: string
  /** True if the model needs no network. */
  readonly offline: boolean
  /** True if its prices are invented. */
  readonly madeUpPrices?: boolean
}

export interface ServerInfo {
  readonly name: string
  /** Process id. Absent while the server is down. */
  readonly pid?: number
  /** Id of its runtime, which the log names as the writer of commits. Absent while the server is down. */
  readonly runtimeId?: string
  /** True if it executes the run of the requested session. */
  readonly isOwner: boolean
}

/** Example of an input, and the feature that it shows. */
export interface Phrase {
  readonly say: string
  readonly see: string
}
