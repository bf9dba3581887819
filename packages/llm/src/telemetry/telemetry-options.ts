/** Options of the reports to OpenTelemetry and to the channel `bowline:llm`. Failures there never affect the call. */
export interface TelemetryOptions {
  /** Default `true`: each call is reported to the OpenTelemetry SDK and to the subscribers of the channel, if there are any. */
  readonly enabled?: boolean
  /**
   * Includes the whole prompt and answer in the span. Default `false`: neither span nor channel contains text of messages or tool
   * inputs. Schemas and headers are never included.
   */
  readonly content?: boolean
  /** Attributes of the span, each under `bowline.metadata.` and its key. */
  readonly metadata?: Readonly<Record<string, string>>
}
