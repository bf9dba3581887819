import { fieldChecks, suggestion, versionCheck, versionMark, type ArgumentCheck } from '@bowline/llm/arguments'
import manifest from '../package.json' with { type: 'json' }
import { SessionError, type SessionErrorCode } from './errors.ts'

/** Upper limit of a duration and of a time, in ms. A time plus a duration is then still a whole number that every store can keep. */
export const longestMs = 4_000_000_000_000_000

/** Returns the error for a wrong option of a constructor. */
export function refusedConfig(message: string): SessionError {
  return new SessionError('invalid-config', sentence(message))
}

/** Checks options of a constructor: a runtime, a store, an orchestration. */
export const configChecks = checksFor('invalid-config')
/** Checks all other arguments. */
export const inputChecks = checksFor('invalid-input')

/** Mark of the stores and runtimes of this package. */
export const sessionsMark = versionMark(manifest)

/** Creates a check that refuses stores and runtimes of another version of this package. */
export function sessionsVersionCheck(refuse: (message: string) => Error): ArgumentCheck {
  return versionCheck(manifest, refuse)
}

export const checkStoreVersion = sessionsVersionCheck(refusedConfig)

export function checksFor(code: SessionErrorCode, prefix = '') {
  return fieldChecks((message) => new SessionError(code, sentence(`${prefix}${message}`)))
}

/** Returns the message with a full stop, unless it ends with a question mark. */
export function sentence(message: string): string {
  return message.endsWith('?') ? message : `${message}.`
}

/** Returns the end of an error about an unknown name: the most similar name, then all known names. */
export function listOfNames(name: string, known: readonly string[]): string {
  const meant = suggestion(name, known)
  return `${meant}${meant === '' ? '; there' : ' There'} are: ${known.join(', ')}.`
}
