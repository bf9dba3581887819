/** What a call reports to OpenTelemetry and to the channel `bowline:llm`. A failure there never changes the call. */
export interface TelemetryOptions {
  /** Default `true`: each call is told to the OpenTelemetry SDK and the subscribers that there are, mostly none. */
  readonly enabled?: boolean
  /**
   * Puts the whole prompt and the whole answer into the span. Default `false`: no text of a message and no input of a
   * tool is in span or channel. Schemas and headers never are.
   */
  readonly content?: boolean
  /** Attributes of the span, each under `bowline.metadata.` and its key. */
  readonly metadata?: Readonly<Record<string, string>>
}
