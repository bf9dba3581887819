import type { BridgeLogger } from '../logger.ts'

/** From the least that is told to nothing at all. */
export const logLevels = ['info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof logLevels)[number]

/** Passes on what is at least as grave as the level. */
export function atLevel(logger: BridgeLogger, level: LogLevel): BridgeLogger {
  const least = logLevels.indexOf(level)
  const pass = (name: keyof BridgeLogger): BridgeLogger['info'] =>
    logLevels.indexOf(name) >= least ? (fields, message) => logger[name](fields, message) : () => {}
  return { info: pass('info'), warn: pass('warn'), error: pass('error') }
}
