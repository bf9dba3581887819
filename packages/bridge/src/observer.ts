import type { Clock } from '@bowline/llm'
import { workContext } from './context.ts'
import type { BridgeCounters } from './bridge-contract.ts'
import { loggerOf, type BridgeLogger } from './logger.ts'
import type { BridgeNotice, NoticeBody } from './notices.ts'
import type { BridgeRedaction } from './redact.ts'

export interface BridgeObserver {
  notify(notice: NoticeBody): void
  counters(): Omit<BridgeCounters, 'inFlight'>
}

export interface ObserverOptions {
  readonly clock: Clock
  readonly logger: BridgeLogger
  readonly onEvent: ((notice: BridgeNotice) => void) | undefined
  readonly redaction: BridgeRedaction
}

/** Creates an observer that logs, emits and counts each notice once. */
export function createObserver({ clock, logger, onEvent, redaction }: ObserverOptions): BridgeObserver {
  const sessionsClosed = { closed: 0, expired: 0, failed: 0, shutdown: 0 }
  const requests = { completed: 0, aborted: 0, error: 0, halted: 0, limit: 0 }
  let sessionsOpened = 0
  let refused = 0
  let workerRestarts = 0
  let dropped = 0

  function count(notice: NoticeBody): void {
    switch (notice.type) {
      case 'session-changed':
        if (notice.from === 'none') sessionsOpened += 1
        if (notice.to === 'over' && isKey(sessionsClosed, notice.reason)) sessionsClosed[notice.reason] += 1
        break
      case 'request-changed':
        if (isKey(requests, notice.to)) requests[notice.to] += 1
        break
      case 'refused':
        refused += 1
        break
      case 'dropped':
        dropped += 1
        break
      case 'worker-changed':
        if (notice.to === 'starting' && notice.restarts > 0) workerRestarts += 1
        break
      default: {
        const unknown: never = notice
        return unknown
      }
    }
  }

  return {
    notify(body) {
      count(body)
      const { type, ...fields } = body
      logger[levelOf[type]](fields, lineOf[type])
      try {
        onEvent?.(redaction.told({ ...body, at: clock.now() }))
      } catch (error) {
        logger.error({ cause: error }, 'onEvent failed')
      }
    },
    counters: () => ({
      sessionsOpened,
      sessionsClosed: { ...sessionsClosed },
      requests: { ...requests },
      refused,
      workerRestarts,
      dropped,
    }),
  }
}

/** Changes of each session and request are for people who look for a fault: a busy bridge makes thousands of them. */
const levelOf: Readonly<Record<NoticeBody['type'], keyof BridgeLogger>> = {
  'session-changed': 'debug',
  'request-changed': 'debug',
  refused: 'info',
  dropped: 'warn',
  'worker-changed': 'info',
}

const lineOf: Readonly<Record<NoticeBody['type'], string>> = {
  'session-changed': 'session changed',
  'request-changed': 'request changed',
  refused: 'request refused',
  dropped: 'late event dropped',
  'worker-changed': 'worker changed',
}

function isKey<T extends object>(counts: T, name: unknown): name is keyof T {
  return typeof name === 'string' && Object.hasOwn(counts, name)
}

/** Returns a logger that adds owner, session, agent and request to each line and redacts secrets in thrown values. */
export function contextLogger(logger: BridgeLogger, redaction: BridgeRedaction): BridgeLogger {
  return loggerOf((level) => (given, message) => {
    const work = workContext()
    if (!work) return logger[level](redaction.fields(given), message)
    const { owner, sessionId, agentId, requestId } = work
    logger[level](redaction.fields({ owner, sessionId, agentId, ...(requestId !== undefined && { requestId }), ...given }), message)
  })
}
