/**
 * What the host of the page offers besides the API: `GET /studio/info`, with `?session=` about the run of that session too. A host is
 * the demo, or the small server that stands between the page and a Bowline server elsewhere.
 */
export interface StudioInfo {
  /** Which model answers, if the host knows. */
  readonly model?: ModelInfo
  /** Where the provider's key comes from. */
  readonly keyVariable?: string
  readonly problem?: { readonly variable: string; readonly message: string }
  /** The address of the Bowline server, if that is not the host itself. */
  readonly server?: string
  /** Whether the server may be killed from the page. */
  readonly canKill: boolean
  /** The server processes. Absent if there is only one ever. */
  readonly servers?: readonly ServerInfo[]
  /** Phrases to offer to the reader. */
  readonly phrases?: readonly Phrase[]
  /** Counts of effects outside, by name, such as `payments`. */
  readonly effects?: Readonly<Record<string, number>>
}

export interface ModelInfo {
  readonly provider: string
  readonly modelId: string
  /** It needs no network. */
  readonly offline: boolean
  /** Its prices are made up. */
  readonly madeUpPrices?: boolean
}

export interface ServerInfo {
  readonly name: string
  /** Absent while it is down. */
  readonly pid?: number
  /** The id of its runtime, which the log names as the writer of commits. Absent while it is down. */
  readonly runtimeId?: string
  /** Whether it executes the run of the session that was asked for. */
  readonly isOwner: boolean
}

/** An input to try, and the feature that it shows. */
export interface Phrase {
  readonly say: string
  readonly see: string
}
