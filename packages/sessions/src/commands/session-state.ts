import type { JSONValue } from '@bowline/llm'
import { inputChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { removeOrchestrationState } from '../orchestration/remove-session.ts'
import type { StateStore } from '../contract/state-store.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { SessionRecord } from '../contract/records.ts'
import { checkJson } from '../json.ts'

/** One JSON record beside the conversation. It lives as long as the session. */
export interface SessionState {
  /** Null: there is none yet. */
  get(): Promise<SessionStateValue | null>
  /** Writes when the record has this version (null: there must be none); without one in any case. Throws `conflict`. */
  set(value: JSONValue, options?: { readonly version?: number | null }): Promise<SessionStateValue>
  /** Reads, changes and writes, again and again until nobody else came in between. Throws `conflict` after 20 times. */
  update(change: (value: JSONValue | null) => JSONValue): Promise<SessionStateValue>
}

export interface SessionStateValue {
  readonly value: JSONValue
  readonly version: number
}

const space = 'session-state'
const maxTries = 20
const checkSetOptions = inputChecks.optionalRecord<{ readonly version?: number | null }>({
  version: (path, value) => {
    if (value !== null) inputChecks.checkWhole(path, value, 1)
  },
})
const forEver = { ttlMs: 'never' } as const

/** `writable` and `readable` throw when the session is not. */
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
      throw new SessionError('conflict', 'The state of the session has another version: read it again.')
    },
    async update(change) {
      inputChecks.checkRequired('change', change, 'a function', (given) => typeof given === 'function')
      const session = await writable()
      for (let tries = 0; tries < maxTries; tries++) {
        const before = await read(session)
        const value = change(before?.value ?? null)
        checkJson(value, 'value')
        const written = await write(session, value, before?.version ?? null)
        if (written) return written
      }
      throw new SessionError('conflict', `The state of the session changed ${maxTries} times while it was updated.`)
    },
  }
  return sessionState
}

/** Of this incarnation: another session under the key has a state of its own. */
function idOf({ key, id }: SessionRecord): string {
  return `${key}#${id}`
}

/** With the session its states go. */
export async function removeStates(store: SessionStore, key: string): Promise<void> {
  await removeOrchestrationState(store, key)
  for (;;) {
    // What was deleted is not listed again.
    const { items, next } = await store.state.list(space, { prefix: `${key}#` })
    for (const { id } of items) await store.state.delete(space, id)
    if (next === undefined) return
  }
}
