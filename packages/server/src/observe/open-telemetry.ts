import type { ContextManager, SpanContext, TextMapPropagator, TracerProvider } from '@opentelemetry/api'

/** What an SDK has registered. */
interface Registry {
  readonly trace?: TracerProvider
  readonly context?: ContextManager
  readonly propagation?: TextMapPropagator
}

/** Where all copies of `@opentelemetry/api` 1.x look for it. It is not imported, since it may not be there. */
const registryKey = Symbol.for('opentelemetry.js.api.1')

/** Under which the context of a request holds its span, for runs that begin in it. */
export const requestSpanKey = Symbol.for('bowline.server.request-span')

/** Undefined without an SDK. */
export function tracing(): (Registry & { readonly trace: TracerProvider }) | undefined {
  const registry = (globalThis as { [registryKey]?: Registry })[registryKey]
  return registry?.trace && { ...registry, trace: registry.trace }
}

/** The span of the request in which this is called. */
export function requestSpan(): SpanContext | undefined {
  return tracing()?.context?.active().getValue(requestSpanKey) as SpanContext | undefined
}

/** Runs `work` once, within what `surround` opens: telemetry that fails is missing, and there is nobody to tell. */
export async function within<T>(surround: (run: () => Promise<T>) => Promise<T>, work: () => Promise<T>): Promise<T> {
  let running: Promise<T> | undefined
  const run = (): Promise<T> => (running ??= work())
  try {
    await surround(run)
  } catch {
    // Of what failed in `work` itself, the promise below tells.
  }
  return run()
}
