/** What a prompt is built for. */
export interface SectionContext {
  readonly channel?: string
  readonly sessionKey?: string
  /** Names of the tools that the model may call. */
  readonly tools: readonly string[]
  /** Epoch milliseconds. */
  readonly now: number
}
