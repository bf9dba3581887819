/** A downloaded file with its IANA media type. */
export interface FetchedFile {
  readonly data: Uint8Array
  readonly mediaType: string
  /** The data as text, where the platform has a quicker way than the web. */
  readonly toBase64?: () => string
}

/**
 * Function that downloads a file from an untrusted URL. It should stop after `maxBytes`: larger files are refused. A
 * `Download` of the model layer is one too.
 */
export type FileDownload = (url: URL, abortSignal: AbortSignal, maxBytes?: number) => Promise<FetchedFile>
