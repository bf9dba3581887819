import type { Span, SpanKind, SpanStatusCode, TracerProvider } from '@opentelemetry/api'
import { inputAttributes, outputAttributes, requestAttributes, responseAttributes, startAttributes } from './attributes.ts'
import type { CallFacts, CallObserver } from './call-observer.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

const client: SpanKind.CLIENT = 2
const error: SpanStatusCode.ERROR = 2

/**
 * Where every copy of `@opentelemetry/api` 1.x keeps what an SDK has registered. Read here instead of importing the
 * package: an optional import stops builds where it is missing, is missing at run time where a bundler took it for
 * missing, and comes too late for the first call, whose context may be gone by then.
 */
const registryKey = Symbol.for('opentelemetry.js.api.1')

/** One span for the call. `undefined` when no SDK is registered. */
export function spanObserver(facts: CallFacts, { content, metadata }: TelemetryOptions): CallObserver | undefined {
  const provider = registeredProvider()
  if (!provider) return undefined
  let span: Span | undefined
  return {
    begin(call) {
      const options = { kind: client, attributes: startAttributes(facts, metadata) }
      provider.getTracer('@bowline/llm').startActiveSpan(`chat ${facts.modelId}`, options, (started) => {
        span = started
        call()
      })
    },
    called(options) {
      if (!span?.isRecording()) return
      span.setAttributes(requestAttributes(options))
      if (content) span.setAttributes(inputAttributes(options.prompt))
    },
    ended(message) {
      try {
        if (!span?.isRecording()) return
        span.setAttributes(responseAttributes(message))
        if (message.stopReason === 'error') span.setStatus({ code: error })
        if (content) span.setAttributes(outputAttributes(message))
      } finally {
        span?.end()
      }
    },
  }
}

function registeredProvider(): TracerProvider | undefined {
  return (globalThis as { [registryKey]?: { readonly trace?: TracerProvider } })[registryKey]?.trace
}
