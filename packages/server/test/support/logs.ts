import type { LogFields, Logger } from '@bowline/server'

export interface Line extends LogFields {
  readonly level: 'info' | 'warn' | 'error'
  readonly message: string
}

/** Creates a logger that keeps its lines. */
export function logs(): { readonly logger: Logger; readonly lines: readonly Line[] } {
  const lines: Line[] = []
  const write =
    (level: Line['level']) =>
    (fields: LogFields, message: string): void =>
      void lines.push({ ...fields, level, message })
  return { logger: { info: write('info'), warn: write('warn'), error: write('error') }, lines }
}
