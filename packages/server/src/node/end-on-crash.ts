import { faultOf } from '../http/fault.ts'
import type { Logger } from '../options.ts'

const flushMs = 1000

/**
 * An exception that nobody caught is logged and ends the process with 1: what state it left behind nobody knows, and a
 * supervisor and the store do the rest. `flush` resolves when the log is written; it has one second.
 */
export function endOnCrash(logger: Logger, flush: () => Promise<void>): void {
  let isEnding = false
  process.on('uncaughtException', (error, origin) => {
    if (isEnding) return
    isEnding = true
    const end = (): never => process.exit(1)
    setTimeout(end, flushMs)
    const log = (): void => logger.error({ ...faultOf(error), origin }, 'nobody caught this: the process ends')
    Promise.resolve().then(log).then(flush).then(end, end)
  })
}
