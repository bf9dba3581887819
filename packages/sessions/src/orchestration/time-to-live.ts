import { longestMs } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { TimeToLive } from '../contract/state-store.ts'
import { checkTimeToLive } from '../contract/check-state.ts'

const defaultTtlMs = 86_400_000
const variable = 'SESSION_TTL_SECONDS'

/** Lifetime of a state that an open run holds. Other writers know it by this length and keep it. */
export const heldMs = longestMs

/** Returns the option, else the environment variable, else 24 hours. Throws `invalid-config` that names the source. */
export function timeToLive(ttlMs: TimeToLive | undefined, environment: Readonly<Record<string, string | undefined>>): TimeToLive {
  if (ttlMs !== undefined) {
    checkTimeToLive(ttlMs)
    return ttlMs
  }
  const text = environment[variable]
  if (text === undefined || text === '') return defaultTtlMs
  if (text === 'never') return text
  const milliseconds = /^\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 1_000) : 0
  if (milliseconds > 0 && milliseconds <= longestMs) return milliseconds
  throw new SessionError('invalid-config', `${variable} must be 'never' or a number of seconds above 0; received ${JSON.stringify(text)}.`)
}
