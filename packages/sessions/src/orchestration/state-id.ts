import { SessionError } from '../errors.ts'
import { checkAnyKey } from '../keys.ts'

// Keys cannot contain this character, so the state of a child run cannot have the id of another session.
const childMark = '#'

/** Throws `invalid-key` unless the id is a session key or the id of a child run. */
export function checkStateId(id: string): void {
  if (typeof id !== 'string') return checkAnyKey(id, 'id')
  const place = id.indexOf(childMark)
  checkAnyKey(place < 0 ? id : id.slice(0, place), 'id')
  if (place >= 0 && (place === id.length - 1 || !id.isWellFormed()))
    throw new SessionError('invalid-key', 'The id of a child run is missing after its session key.')
}

/** Returns the id of a state. A run below the root has a state of its own. */
export function stateIdOf(sessionKey: string, childRunId: string | undefined): string {
  return childRunId === undefined ? sessionKey : `${sessionKey}${childMark}${childRunId}`
}

/** Returns the prefix of the ids of the child runs of a session. */
export function childPrefixOf(sessionKey: string): string {
  return `${sessionKey}${childMark}`
}
