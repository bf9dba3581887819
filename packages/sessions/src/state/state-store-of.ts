import { describeValue } from '@bowline/llm/arguments'
import { checkStoreVersion } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { StateStore } from '../contract/state-store.ts'
import type { SessionStore } from '../contract/session-store.ts'

const methods = ['get', 'compareAndSet', 'touch', 'delete', 'list', 'sweep'] as const satisfies readonly (keyof StateStore)[]

/** Returns the given state store, or the one of the given session store. Throws `invalid-config` for anything else. */
export function stateStoreOf(given: StateStore | SessionStore | undefined, path = 'store'): StateStore {
  const store: unknown = typeof given === 'object' && given !== null && 'state' in given ? given.state : given
  checkStoreVersion(path, store)
  if (isStateStore(store)) return store
  throw new SessionError('invalid-config', `${path} must be a state store or a session store; received ${describeValue(given)}.`)
}

function isStateStore(value: unknown): value is StateStore {
  return typeof value === 'object' && value !== null && methods.every((name) => typeof Reflect.get(value, name) === 'function')
}
