export interface FetchedFile {
  readonly data: Uint8Array
  readonly mediaType: string
  /** The data as text, where the platform has a quicker way than the web. */
  readonly toBase64?: () => string
}

/**
 * Fetches a file that somebody named by its address. It should stop where there are more than `maxBytes`: what is larger is
 * refused. A `Download` as models take it is one too.
 */
export type FileDownload = (url: URL, abortSignal: AbortSignal, maxBytes?: number) => Promise<FetchedFile>
