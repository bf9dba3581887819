import type { BridgeLogger } from '../logger.ts'

/** Log levels, from most to least output. */
export const logLevels = ['info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** Returns a logger that drops messages below the level. */
export function atLevel(logger: BridgeLogger, level: LogLevel): BridgeLogger {
  const least = logLevels.indexOf(level)
  const pass = (name: keyof BridgeLogger): BridgeLogger['info'] =>
    logLevels.indexOf(name) >= least ? (fields, message) => logger[name](fields, message) : () => {}
  return { info: pass('info'), warn: pass('warn'), error: pass('error') }
}
