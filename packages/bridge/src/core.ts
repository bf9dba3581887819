import type { StateStore } from '@bowline/sessions'
import type { BridgeCounters } from './bridge-contract.ts'
import type { NoticeBody } from './notices.ts'
import type { Processes } from './records/processes.ts'
import type { BridgeSettings } from './settings.ts'

/** What every part of one bridge stands on. */
export interface Core {
  readonly settings: BridgeSettings
  readonly store: StateStore
  readonly processes: Processes
  readonly observer: BridgeObserver
  /** How long the record of what is over is kept. */
  retentionMs(durable: boolean): number
  /** What may fail without anybody's call failing: logged, and forgotten. */
  attempt(what: string, work: () => unknown): Promise<void>
}

export interface BridgeObserver {
  notify(notice: NoticeBody): void
  counters(): Omit<BridgeCounters, 'inFlight'>
}
