import { faultOf } from '../http/fault.ts'
import type { Logger } from '../options.ts'

const flushMs = 1000

/**
 * Logs an uncaught exception and exits with 1, because the state of the process is unknown. A supervisor and the store recover.
 * `flush` resolves when the log is written; it has one second.
 */
export function endOnCrash(logger: Logger, flush: () => Promise<void>): void {
  let isEnding = false
  process.on('uncaughtException', (error, origin) => {
    if (isEnding) return
    isEnding = true
    const end = (): never => process.exit(1)
    setTimeout(end, flushMs)
    const log = (): void => logger.error({ ...faultOf(error), origin }, 'uncaught error: the process ends')
    Promise.resolve().then(log).then(flush).then(end, end)
  })
}
