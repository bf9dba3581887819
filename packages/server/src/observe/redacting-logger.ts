import type { Redaction } from '@bowline/llm'
import type { Logger } from '../options.ts'

/** Returns a logger that removes secrets. */
export function redactingLogger(logger: Logger, redaction: Redaction): Logger {
  const clean = (fields: object): Record<string, unknown> => redaction.value({ ...fields }) as Record<string, unknown>
  return {
    info: (fields, message) => logger.info(clean(fields), message),
    warn: (fields, message) => logger.warn(clean(fields), message),
    error: (fields, message) => logger.error(clean(fields), message),
  }
}
