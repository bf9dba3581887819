import type { Span, SpanKind, SpanStatusCode, TracerProvider } from '@opentelemetry/api'
import * as attributes from './attributes.ts'
import type { CallFacts, CallObserver } from './call-observer.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

const client: SpanKind.CLIENT = 2
const error: SpanStatusCode.ERROR = 2

/**
 * Global key under which all copies of `@opentelemetry/api` 1.x store what an SDK has registered. Read directly, because an
 * optional import does not work well: a static one breaks bundles without the package, a hidden one fails in bundles, and the first
 * call would have to wait for either.
 */
const registryKey = Symbol.for('opentelemetry.js.api.1')

/** Creates one span for the call. Returns `undefined` if no SDK is registered. */
export function spanObserver(facts: CallFacts, { content, metadata }: TelemetryOptions): CallObserver | undefined {
  const provider = registeredProvider()
  if (!provider) return undefined
  let span: Span | undefined
  return {
    begin(call) {
      const options = { kind: client, attributes: attributes.ofStart(facts, metadata) }
      provider.getTracer('@bowline/llm').startActiveSpan(`chat ${facts.modelId}`, options, (started) => {
        span = started
        call()
      })
    },
    called(options) {
      if (!span?.isRecording()) return
      span.setAttributes(attributes.ofRequest(options))
      if (content) span.setAttributes(attributes.ofInput(options.prompt))
    },
    ended(message) {
      try {
        if (!span?.isRecording()) return
        span.setAttributes(attributes.ofResponse(message))
        if (message.stopReason === 'error') span.setStatus({ code: error })
        if (content) span.setAttributes(attributes.ofOutput(message))
      } finally {
        span?.end()
      }
    },
  }
}

function registeredProvider(): TracerProvider | undefined {
  return (globalThis as { [registryKey]?: { readonly trace?: TracerProvider } })[registryKey]?.trace
}
