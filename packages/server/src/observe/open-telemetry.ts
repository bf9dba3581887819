import type { ContextManager, SpanContext, TextMapPropagator, TracerProvider } from '@opentelemetry/api'

/** Objects that an SDK has registered. */
interface Registry {
  readonly trace?: TracerProvider
  readonly context?: ContextManager
  readonly propagation?: TextMapPropagator
}

/**
 * Key under which all copies of `@opentelemetry/api` 1.x find the registry. The package is not imported, because it may not be
 * installed.
 */
const registryKey = Symbol.for('opentelemetry.js.api.1')

/** Context key of the span of a request, for runs that begin in it. */
export const requestSpanKey = Symbol.for('bowline.server.request-span')

/** Returns undefined without an SDK. */
export function tracing(): (Registry & { readonly trace: TracerProvider }) | undefined {
  const registry = (globalThis as { [registryKey]?: Registry })[registryKey]
  return registry?.trace && { ...registry, trace: registry.trace }
}

/** Returns the span of the current request. */
export function requestSpan(): SpanContext | undefined {
  return tracing()?.context?.active().getValue(requestSpanKey) as SpanContext | undefined
}

/** Runs `work` once, wrapped by `surround`. If telemetry fails, its error is ignored. */
export async function within<T>(surround: (run: () => Promise<T>) => Promise<T>, work: () => Promise<T>): Promise<T> {
  let running: Promise<T> | undefined
  const run = (): Promise<T> => (running ??= work())
  try {
    await surround(run)
  } catch {
    // An error of `work` itself is reported by the promise below.
  }
  return run()
}
