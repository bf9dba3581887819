import { SessionError } from '../errors.ts'
import type { StateStore } from '../state/contract.ts'
import type { SessionStore } from '../store/contract.ts'

/** The state store that was given, or that of the session store that was given. Throws `invalid-config` for anything else. */
export function stateStoreOf(given: StateStore | SessionStore | undefined): StateStore {
  if (typeof given === 'object' && given !== null) {
    if ('state' in given) return given.state
    if ('compareAndSet' in given) return given
  }
  throw new SessionError('invalid-config', 'createOrchestration needs a store: a state store, or a session store.')
}
