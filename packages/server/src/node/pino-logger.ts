import { destination, pino, type Level } from 'pino'
import type { Logger } from '../options.ts'

export interface PinoLoggerOptions {
  /** Default `info`. */
  readonly level?: Level | 'silent'
  /** A file descriptor or the path of a file. Default: the standard output. */
  readonly to?: number | string
}

export interface FlushedLogger extends Logger {
  /** Resolves when every line so far has left the process. For ends that come of a sudden. */
  flush(): Promise<void>
}

/** Lines of JSON, written beside the work. */
export function pinoLogger({ level = 'info', to = 1 }: PinoLoggerOptions = {}): FlushedLogger {
  // With a least length of nothing a flush waits for nothing.
  const stream = destination({ dest: to, sync: false, minLength: 1 })
  const logger = pino({ level, formatters: { level: (label) => ({ level: label }) } }, stream)
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => new Promise((resolve, reject) => logger.flush((error) => (error && !hasNoDisk(error) ? reject(error) : resolve()))),
  }
}

/** Pipes and terminals have no disk to wait for, and say so when every line is written. */
function hasNoDisk({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EINVAL' || code === 'ENOTSUP'
}
