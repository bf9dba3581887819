import { SessionError } from '../errors.ts'
import { checkAnyKey } from '../keys.ts'

// Not a character of keys: the children of a session are apart from every other session.
const childMark = '#'

/** Throws `invalid-key` for what is neither a session key nor that of a child run. */
export function checkStateId(id: string): void {
  if (typeof id !== 'string') return checkAnyKey(id, 'id')
  const place = id.indexOf(childMark)
  checkAnyKey(place < 0 ? id : id.slice(0, place), 'id')
  if (place >= 0 && (place === id.length - 1 || !id.isWellFormed())) throw new SessionError('invalid-key', 'The id of a child run is missing behind its session key.')
}

/** Of a run below the root: its own, whatever session it works for. */
export function stateIdOf(sessionKey: string, childRunId: string | undefined): string {
  return childRunId === undefined ? sessionKey : `${sessionKey}${childMark}${childRunId}`
}

/** Where the states of the child runs of a session begin. */
export function childPrefixOf(sessionKey: string): string {
  return `${sessionKey}${childMark}`
}
