import { fieldChecks } from '@bowline/llm/arguments'
import { SessionError, type SessionErrorCode } from './errors.ts'

/** The longest time, and the last moment: beyond it a sum of the two is no whole number that every store keeps. */
export const longestMs = 4_000_000_000_000_000

/** Options that something is made with: a runtime, a store, an orchestration. */
export const configChecks = checksFor('invalid-config')
/** Arguments of everything else. */
export const inputChecks = checksFor('invalid-input')

export function checksFor(code: SessionErrorCode, prefix = '') {
  return fieldChecks((message) => new SessionError(code, `${prefix}${message}.`))
}
