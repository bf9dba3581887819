import { pino } from 'pino'
import type { ResolvedConfig } from '../config/resolve-config.ts'
import type { Logger } from '../options.ts'

export interface ProcessLogger extends Logger {
  /** Resolves when everything is written. */
  written(): Promise<void>
}

/** One JSON line on stdout for each thing that is logged. */
export function createLogger({ values }: ResolvedConfig): ProcessLogger {
  const logger = pino({ level: values['log.level'], base: null, timestamp: pino.stdTimeFunctions.isoTime })
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    written: () => new Promise((resolve, reject) => logger.flush((error) => (error ? reject(error) : resolve()))),
  }
}
