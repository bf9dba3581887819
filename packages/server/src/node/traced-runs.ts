import type { SpanContext, SpanStatusCode } from '@opentelemetry/api'
import type { AroundRun, SessionStore } from '@bowline/sessions'
import { isFields } from '@bowline/llm/arguments'
import { configChecks, methods, required } from '../arguments.ts'
import { requestSpan, tracing, within } from '../observe/open-telemetry.ts'

/** Maximum number of requests remembered for runs that have not started. The oldest are forgotten first. */
const maxRemembered = 10_000
const failed: SpanStatusCode.ERROR = 2

/**
 * Returns runtime options that record each execution of a run as a span, linked to the request of its input. Model calls are within
 * that span. Without an OpenTelemetry SDK there are no spans and almost no cost.
 */
export function tracedRuns<Options extends { readonly store: SessionStore }>(
  options: Options,
): Options & { readonly aroundRun: AroundRun } {
  configChecks.checkRequired('options', options, 'options of a runtime', isFields)
  required(methods('commit'))('store', options.store)
  const origins = new Map<string, SpanContext>()
  return { ...options, store: rememberOrigins(options.store, origins), aroundRun: around(origins) }
}

/** The span of a run is not a child of the request that wakes it: it starts a new trace, or continues that of its process. */
function around(origins: Map<string, SpanContext>): AroundRun {
  return (run, execute) => {
    const found = tracing()
    const origin = origins.get(run.runId)
    origins.delete(run.runId)
    if (!found) return execute()
    const span = {
      root: true,
      attributes: {
        'bowline.run_id': run.runId,
        'bowline.run_kind': run.kind,
        'bowline.agent': run.agent,
        'bowline.run_claims': run.claims,
      },
      ...(origin && { links: [{ context: origin }] }),
    }
    return within(
      (work) =>
        found.trace.getTracer('@bowline/server').startActiveSpan(`run ${run.agent}`, span, async (started) => {
          try {
            return await work()
          } catch (error) {
            started.setStatus({ code: failed })
            throw error
          } finally {
            started.end()
          }
        }),
      execute,
    )
  }
}

/** Remembers the request of each new run: the commit that creates a run happens within its request. */
function rememberOrigins(store: SessionStore, origins: Map<string, SpanContext>): SessionStore {
  const commit: SessionStore['commit'] = (batch) => {
    const origin = requestSpan()
    for (const write of origin ? batch.writes : []) if (write.op === 'run.insert' && origin) remember(write.run.id, origin, origins)
    return store.commit(batch)
  }
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === 'commit' ? commit : Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

function remember(runId: string, origin: SpanContext, origins: Map<string, SpanContext>): void {
  origins.set(runId, origin)
  const [oldest] = origins.keys()
  if (origins.size > maxRemembered && oldest !== undefined) origins.delete(oldest)
}
