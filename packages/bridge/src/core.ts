import { memoryStateStore } from '@bowline/sessions'
import type { StateStore } from '@bowline/sessions'
import { createObserver } from './observer.ts'
import type { BridgeObserver } from './observer.ts'
import { ownerLimits } from './owner-limits.ts'
import type { OwnerLimits } from './owner-limits.ts'
import type { BridgeRedaction } from './redact.ts'
import { Processes } from './records/processes.ts'
import type { BridgeSettings } from './settings.ts'

/** Dependencies that all parts of one bridge share. */
export interface Core {
  readonly settings: BridgeSettings
  readonly store: StateStore
  readonly processes: Processes
  readonly observer: BridgeObserver
  readonly ownerLimits: OwnerLimits
  readonly redaction: BridgeRedaction
  /** Time in ms for which records of ended sessions and requests are kept. */
  retentionMs(durable: boolean): number
  /** Runs `work` and logs its error; never rejects. */
  attempt(what: string, work: () => unknown): Promise<void>
}

const hourMs = 3_600_000

export function coreOf(settings: BridgeSettings, redaction: BridgeRedaction): Core {
  const { clock, logger, onEvent, requestRetentionMs, executors } = settings
  const shared = settings.store ?? executors.find(({ stateStore }) => stateStore)?.stateStore
  const store = shared ?? memoryStateStore({ clock })
  const onError = (error: unknown): void => logger.warn({ cause: error }, 'the store did not answer')
  return {
    settings,
    store,
    redaction,
    processes: new Processes({ store, clock, isShared: shared !== undefined, onError }),
    observer: createObserver({ clock, logger, onEvent, redaction }),
    ownerLimits: ownerLimits(settings),
    retentionMs: (durable) => Math.max(1, requestRetentionMs ?? (durable ? 24 * hourMs : hourMs)),
    async attempt(what, work) {
      try {
        await work()
      } catch (error) {
        logger.warn({ cause: error }, what)
      }
    },
  }
}
