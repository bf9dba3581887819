import { systemClock, type Redaction } from '@bowline/llm'
import type { Logger, ServerOptions } from '../options.ts'
import { auditObserver, logAudit, type AuditRecord } from './audit.ts'
import { composeObservers } from './compose-observers.ts'
import { logObserver } from './log-observer.ts'
import { spanObserver } from './span-observer.ts'
import type { ComposedObserver } from './server-observer.ts'

/** Returns the combined observers of a server with these options. */
export function observerOf(
  { log, onAudit, metrics, clock = systemClock }: ServerOptions,
  logger: Logger,
  redaction: Redaction,
): ComposedObserver {
  const audit = onAudit ? (record: AuditRecord) => onAudit(redaction.value(record) as AuditRecord) : logAudit(logger)
  return composeObservers(
    [spanObserver(redaction, () => clock.now()), logObserver(logger, log), auditObserver(audit), ...(metrics ? [metrics] : [])],
    logger,
  )
}
