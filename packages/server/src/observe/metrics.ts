import type { ServerObserver } from './server-observer.ts'

/** Counts what happens, and says it in the form of Prometheus. Must tell no ids, and tenants only when asked to. */
export interface Metrics extends ServerObserver {
  readonly contentType: string
  text(): Promise<string>
}
