import type { SessionStore } from '@bowline/sessions'
import { Registry } from 'prom-client'
import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks, methods, required } from '../../arguments.ts'
import type { Metrics } from '../../observe/metrics.ts'
import { createInstruments } from './instruments.ts'
import { measuredStore } from './measured-store.ts'
import { countModelCalls } from './model-calls.ts'
import { requestMeter } from './request-meter.ts'
import { storeGauges } from './store-gauges.ts'

/** Registry and labels of Prometheus metrics. */
export interface PrometheusOptions {
  /** Registry of the metrics. Default: a new one. */
  readonly registry?: Registry
  /** Counts requests by tenant too. Default false. */
  readonly tenants?: boolean
}

/** Metrics of one process and the hook for its store. */
export interface PrometheusMetrics extends Metrics {
  /** Returns the store with which to create the runtime, so that runs and commits are counted. */
  measure(store: SessionStore): SessionStore
  /** Stops counting the model calls of this process. */
  close(): void
}

const optionChecks: FieldChecks<PrometheusOptions> = { registry: methods('metrics', 'registerMetric'), tenants: configChecks.checkBoolean }

/** Creates Prometheus metrics of this process. */
export function prometheusMetrics(options: PrometheusOptions = {}): PrometheusMetrics {
  configChecks.checkFields('options', options, optionChecks)
  const { registry = new Registry(), tenants = false } = options
  const instruments = createInstruments(registry, tenants)
  const addStore = storeGauges(registry)
  return {
    ...requestMeter(instruments, tenants),
    contentType: registry.contentType,
    text: () => registry.metrics(),
    measure(store) {
      required(methods('commit'))('store', store)
      addStore(store)
      return measuredStore(store, instruments)
    },
    close: countModelCalls(instruments),
  }
}
