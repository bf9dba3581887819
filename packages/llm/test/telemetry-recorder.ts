import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterEach } from 'vitest'

export interface Recorder {
  /** Returns the ended spans, oldest first. */
  spans(): ReadableSpan[]
  /** Returns the only ended span. Throws if there are none or several. */
  span(): ReadableSpan
}

export interface RecorderOptions {
  readonly sampler?: Sampler
  readonly processors?: readonly SpanProcessor[]
  readonly exporters?: readonly SpanExporter[]
}

/** Registers a real SDK until the end of the test; the registry is global. */
export function record({ sampler, processors = [], exporters = [] }: RecorderOptions = {}): Recorder {
  const memory = new InMemorySpanExporter()
  const exporting = [...exporters, memory].map((exporter) => new SimpleSpanProcessor(exporter))
  const spanProcessors = [...processors, ...exporting]
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors, ...(sampler && { sampler }) }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const spans = (): ReadableSpan[] => memory.getFinishedSpans()
  return {
    spans,
    span() {
      const [first, ...more] = spans()
      if (!first || more.length > 0) throw new Error(`${spans().length} spans have ended`)
      return first
    },
  }
}

/** Call it once per file, so that one test's SDK does not affect the next. */
export function forgetSdkAfterEach(): void {
  afterEach(() => {
    trace.disable()
    context.disable()
  })
}
