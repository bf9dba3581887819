export interface TelemetryOptions {
  /** Default `true`; nothing happens unless an OpenTelemetry SDK is registered or somebody subscribes to the channel. */
  readonly enabled?: boolean
  /**
   * Puts the whole prompt and the whole answer into the span. Default `false`: no text of a message, no input of a tool,
   * no schema and no header leaves the process.
   */
  readonly content?: boolean
  /** Added to the span, each under `bowline.metadata.` and its key. */
  readonly metadata?: Readonly<Record<string, string>>
}
