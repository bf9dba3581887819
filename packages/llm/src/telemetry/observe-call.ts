import { unobserved, type CallFacts, type CallObserver } from './call-observer.ts'
import { channelObserver } from './channel.ts'
import { spanObserver } from './span.ts'
import type { TelemetryOptions } from './telemetry-options.ts'

/** Returns the observers of a new call. Must be cheap, because usually there are none. */
export function observeCall(facts: CallFacts, options: TelemetryOptions = {}): CallObserver {
  if (options.enabled === false) return unobserved
  const span = attempt(() => spanObserver(facts, options))
  const channel = attempt(() => channelObserver(facts))
  if (!span && !channel) return unobserved
  return together([span, channel].filter((observer) => observer !== undefined))
}

/** Combines observers; the first is the outermost. A failing observer affects neither the others nor the call. */
function together(observers: readonly CallObserver[]): CallObserver {
  return {
    begin: (call) => observers.reduceRight((inner, observer) => () => within((run) => observer.begin(run), inner), call)(),
    called(options) {
      for (const observer of observers) attempt(() => observer.called(options))
    },
    ended(message) {
      for (const observer of observers) attempt(() => observer.ended(message))
    },
  }
}

/** Runs `call` exactly once, even if `surround` fails. Rethrows errors of `call` only. */
function within(surround: (run: () => void) => void, call: () => void): void {
  let outcome: { readonly thrown?: unknown } | undefined
  const run = (): void => {
    if (outcome) return
    outcome = {}
    try {
      call()
    } catch (thrown) {
      outcome = { thrown }
    }
  }
  attempt(() => surround(run))
  run()
  if (outcome && 'thrown' in outcome) throw outcome.thrown
}

/** Ignores errors of telemetry: they must not make a call fail. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}
