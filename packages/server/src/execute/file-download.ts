/** Downloaded file with its IANA media type. */
export interface FetchedFile {
  readonly data: Uint8Array
  readonly mediaType: string
  /** Returns the data as base64, if the platform has a faster way than the web API. */
  readonly toBase64?: () => string
}

/**
 * Downloads a file from an untrusted URL. It should stop after `maxBytes`: larger files are refused. A `Download` of the model
 * layer also fits.
 */
export type FileDownload = (url: URL, abortSignal: AbortSignal, maxBytes?: number) => Promise<FetchedFile>
