import type { JSONValue } from '@bowline/llm'
import { inputChecks } from '../arguments.ts'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { SessionRecord } from '../contract/records.ts'
import type { StateStore } from '../contract/state-store.ts'
import { SessionError } from '../errors.ts'
import { checkJson } from '../json.ts'
import type { SessionContext } from './context.ts'
import type { SessionState, SessionStateValue } from './types.ts'

const space = 'session-state'
const checkSetOptions = inputChecks.optionalRecord<{ readonly version?: number | null }>({
  version: (path, value) => {
    if (value !== null) inputChecks.checkWhole(path, value, 1)
  },
})
const forEver = { ttlMs: 'never' } as const

/** `writable` and `readable` throw if the session is not. */
export function sessionState(
  store: { readonly state: StateStore },
  writable: () => Promise<SessionRecord>,
  readable: () => Promise<SessionRecord>,
): SessionState {
  async function read(session: SessionRecord): Promise<SessionStateValue | null> {
    const found = await store.state.get(space, idOf(session))
    return found.status === 'found' ? { value: found.value.value, version: found.value.version } : null
  }

  async function write(session: SessionRecord, value: JSONValue, version: number | null): Promise<SessionStateValue | undefined> {
    const result = await store.state.compareAndSet(space, idOf(session), version, value, forEver)
    return result.ok ? { value, version: result.version } : undefined
  }

  const sessionState: SessionState = {
    get: async () => read(await readable()),
    async set(value, options = {}) {
      checkSetOptions('state.set.options', options)
      checkJson(value, 'value')
      const { version } = options
      if (version === undefined) return sessionState.update(() => value)
      const written = await write(await writable(), value, version)
      if (written) return written
      throw new SessionError('conflict', 'The state of the session has changed to another version. Read it again.')
    },
    async update(change) {
      inputChecks.checkRequired('change', change, 'a function', (given) => typeof given === 'function')
      const session = await writable()
      return retryOnConflict(
        async () => {
          const before = await read(session)
          const value = change(before?.value ?? null)
          checkJson(value, 'value')
          const written = await write(session, value, before?.version ?? null)
          return written ?? tryAgain
        },
        (tries) => `The state of the session changed ${tries} times while it was updated.`,
      )
    },
  }
  return sessionState
}

/** Returns the id for this incarnation: another session under the key has its own state. */
function idOf({ key, id }: SessionRecord): string {
  return `${key}#${id}`
}

/** Removes the state of every session that had this key, including the state of extensions. */
export async function removeStates(
  { store, removeExtensionState }: Pick<SessionContext, 'store' | 'removeExtensionState'>,
  key: string,
): Promise<void> {
  await removeExtensionState(key)
  for (;;) {
    // Deleted records are not listed again.
    const { items, next } = await store.state.list(space, { prefix: `${key}#` })
    for (const { id } of items) await store.state.delete(space, id)
    if (next === undefined) return
  }
}
