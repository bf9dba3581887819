import type { ServerObserver } from './server-observer.ts'

/** Counters in the Prometheus format. They must not contain ids, and tenants only if that is configured. */
export interface Metrics extends ServerObserver {
  readonly contentType: string
  text(): Promise<string>
}
