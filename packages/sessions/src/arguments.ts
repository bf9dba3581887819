import { fieldChecks, suggestion } from '@bowline/llm/arguments'
import { SessionError, type SessionErrorCode } from './errors.ts'

/** The longest time, and the last moment: beyond it a sum of the two is no whole number that every store keeps. */
export const longestMs = 4_000_000_000_000_000

/** Options that something is made with: a runtime, a store, an orchestration. */
export const configChecks = checksFor('invalid-config')
/** Arguments of everything else. */
export const inputChecks = checksFor('invalid-input')

export function checksFor(code: SessionErrorCode, prefix = '') {
  return fieldChecks((message) => new SessionError(code, sentence(`${prefix}${message}`)))
}

/** With a full stop, unless it asks what was meant. */
export function sentence(message: string): string {
  return message.endsWith('?') ? message : `${message}.`
}

/** Ends a sentence about a name that is unknown: the one that was probably meant, and all that there are. */
export function listOfNames(name: string, known: readonly string[]): string {
  const meant = suggestion(name, known)
  return `${meant}${meant === '' ? '; there' : ' There'} are: ${known.join(', ')}.`
}
