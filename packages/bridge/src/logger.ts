import { inspect } from 'node:util'

/** A logger with one structured line per call. A pino logger has this shape. */
export interface BridgeLogger {
  /** Each change of a session or a request: several lines for each prompt. */
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

/** Fields of a log line: JSON, and `cause`, any thrown value. Secrets are already removed. */
export type LogFields = Readonly<Record<string, unknown>>

/** Log levels, from most to least output. */
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** Returns a logger with these methods, made by one function. */
export function loggerOf(method: (level: keyof BridgeLogger) => BridgeLogger['info']): BridgeLogger {
  return { debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') }
}

/** Returns a logger that drops messages below the level. */
export function atLevel(logger: BridgeLogger, level: LogLevel): BridgeLogger {
  const least = logLevels.indexOf(level)
  return loggerOf((name) => (logLevels.indexOf(name) >= least ? (fields, message) => logger[name](fields, message) : () => {}))
}

/** Writes JSON lines to stderr, because stdout may carry a protocol. */
export function stderrLogger(): BridgeLogger {
  return loggerOf(write)
}

function write(level: string): (fields: LogFields, message: string) => void {
  return (fields, message) => {
    process.stderr.write(`${lineOf({ level, time: Date.now(), message }, fields)}\n`)
  }
}

/** Logged values may be circular or have no JSON form. Logging them must not throw. */
function lineOf(head: object, fields: LogFields): string {
  try {
    return JSON.stringify({ ...head, ...fields }, plainError)
  } catch {
    return JSON.stringify({ ...head, fields: inspect(fields) })
  }
}

function plainError(_key: string, value: unknown): unknown {
  return value instanceof Error ? { ...value, name: value.name, message: value.message, stack: value.stack } : value
}
