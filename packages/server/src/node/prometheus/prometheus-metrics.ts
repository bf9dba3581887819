import type { SessionStore } from '@bowline/sessions'
import { Registry } from 'prom-client'
import type { Metrics } from '../../observe/metrics.ts'
import { createInstruments } from './instruments.ts'
import { measuredStore } from './measured-store.ts'
import { countModelCalls } from './model-calls.ts'
import { requestMeter } from './request-meter.ts'

export interface PrometheusOptions {
  /** Default: one of its own. */
  readonly registry?: Registry
  /** Requests are counted by tenant too. Default false. */
  readonly tenants?: boolean
}

export interface PrometheusMetrics extends Metrics {
  /** The store with which a runtime is to be created, for the figures of runs and commits. */
  measure(store: SessionStore): SessionStore
  /** Counts model calls no more: they are those of the whole process. */
  close(): void
}

/** The figures of one process. */
export function prometheusMetrics({ registry = new Registry(), tenants = false }: PrometheusOptions = {}): PrometheusMetrics {
  const instruments = createInstruments(registry, tenants)
  return {
    ...requestMeter(instruments, tenants),
    contentType: registry.contentType,
    text: () => registry.metrics(),
    measure: (store) => measuredStore(store, instruments),
    close: countModelCalls(instruments),
  }
}
