export interface Page<T> {
  readonly items: readonly T[]
  /** Hand it back as `page` for the items after these. */
  readonly next?: string
}

export interface PageRequest {
  /** Default 100, at most 1,000. */
  readonly limit?: number
  readonly page?: string
}
