import { inspect } from 'node:util'

/** A logger with one structured line per call. A pino logger has this shape. */
export interface BridgeLogger {
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

/** Fields of a log line: JSON, and `cause`, any thrown value. Secrets are already removed. */
export type LogFields = Readonly<Record<string, unknown>>

/** Writes JSON lines to stderr, because stdout may carry a protocol. */
export function stderrLogger(): BridgeLogger {
  return { info: write('info'), warn: write('warn'), error: write('error') }
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
