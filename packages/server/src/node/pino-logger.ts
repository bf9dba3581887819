import { destination, pino, type Level } from 'pino'
import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks, oneOf } from '../arguments.ts'
import type { LogFields, Logger } from '../options.ts'

/** Level and target of a pino logger. */
export interface PinoLoggerOptions {
  /** Minimum severity. Default `info`. */
  readonly level?: Level | 'silent'
  /** File descriptor or path of a file. Default: the standard output. */
  readonly to?: number | string
}

/** Logger whose lines can be flushed. */
export interface FlushedLogger extends Logger {
  /** Lines that a bridge writes for each change of a session or a request. */
  debug(fields: LogFields, message: string): void
  /** Resolves when all previous lines have left the process. Call it before a sudden exit. */
  flush(): Promise<void>
}

const optionChecks: FieldChecks<PinoLoggerOptions> = {
  level: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  to: (path, value) => {
    const isTarget = (given: unknown): boolean =>
      (typeof given === 'string' && given !== '') || (Number.isSafeInteger(given) && Number(given) >= 0)
    if (value !== undefined) configChecks.checkRequired(path, value, 'a file descriptor or the path of a file', isTarget)
  },
}

/**
 * Creates a logger of JSON lines. It writes asynchronously: requests do not wait for it, and a sudden exit loses lines that
 * were not flushed. Throws `invalid-config`.
 */
export function pinoLogger(options: PinoLoggerOptions = {}): FlushedLogger {
  configChecks.checkFields('options', options, optionChecks)
  const { level = 'info', to = 1 } = options
  // Without a minimum length, a flush would not wait for anything.
  const stream = destination({ dest: to, sync: false, minLength: 1 })
  const logger = pino({ level, formatters: { level: (label) => ({ level: label }) } }, stream)
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () => new Promise((resolve, reject) => logger.flush((error) => (error && !hasNoDisk(error) ? reject(error) : resolve()))),
  }
}

/** Returns true for an error of a pipe or terminal. They have no disk to wait for, and report each line when it is written. */
function hasNoDisk({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EINVAL' || code === 'ENOTSUP'
}
