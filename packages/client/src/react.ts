import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { needed, type FieldChecks } from '@bowline/llm/arguments'
import { inputChecks } from './arguments.ts'
import type { Client } from './client.ts'
import type { ClientEvent } from './client-event.ts'
import { SessionStore, emptySnapshot } from './react/session-store.ts'
import type { SessionActions, SessionSnapshot } from './react/session-store.ts'
import { checkTools } from './request-checks.ts'
import { checkSessionId } from './common-checks.ts'
import { dropOldest } from './client-options.ts'
import type { ClientTools } from './client-tool.ts'
import type { ClientSession } from './client-session.ts'

export type { HookSendOptions, PendingCall, SessionActions, SessionSnapshot } from './react/session-store.ts'

/** Client, session and tools of a component. */
export interface UseSessionOptions {
  /** The client. It must be the same object in every render. */
  readonly client: Client
  readonly sessionId: string
  /** Remote tools that this page runs by itself, in addition to those of the client. */
  readonly tools?: ClientTools
}

/** Snapshot of a session with its actions, for rendering. */
export interface UseSessionResult extends SessionSnapshot, SessionActions {
  /** Session handle, for `useEvents` and for methods that the hook lacks. */
  readonly session: ClientSession
}

/** One store and one stream per session, shared by all components that use it. */
const storesOfClient = new WeakMap<Client, Map<string, SessionStore>>()
const storeOfSession = new WeakMap<ClientSession, SessionStore>()

const noTools: ClientTools = {}

const optionChecks: FieldChecks<UseSessionOptions> = {
  client: inputChecks.requiredMethods('session'),
  sessionId: checkSessionId,
  tools: checkTools,
}

/**
 * Returns a live snapshot of a session with its actions, and renders again on each change. All components on one session share
 * one connection. Throws `invalid-input`.
 */
export function useSession(options: UseSessionOptions): UseSessionResult {
  inputChecks.checkFields('options', needed(options), optionChecks)
  const { client, sessionId, tools = noTools } = options
  const store = useMemo(() => storeOf(client, sessionId), [client, sessionId])
  const snapshot = useSyncExternalStore(store.subscribe, store.getSnapshot, serverSnapshot)
  useEffect(() => store.setTools(tools), [store, tools])
  return useMemo(() => ({ ...snapshot, ...store.actions, session: store.session }), [snapshot, store])
}

/**
 * Returns the session's newest events in order (at most 10,000), for a timeline. Shares the connection of `useSession`. Throws
 * `invalid-input`.
 */
export function useEvents(session: ClientSession): readonly ClientEvent[] {
  inputChecks.checkMethods('session', needed(session), ['attach', 'state'])
  const store = useMemo(() => storeOfSession.get(session) ?? register(new SessionStore(session)), [session])
  return useSyncExternalStore(store.subscribe, store.getSnapshot, serverSnapshot).events
}

function serverSnapshot(): SessionSnapshot {
  return emptySnapshot
}

function storeOf(client: Client, sessionId: string): SessionStore {
  const stores = storesOfClient.get(client) ?? new Map<string, SessionStore>()
  storesOfClient.set(client, stores)
  const known = stores.get(sessionId)
  if (known) return known
  const store = register(
    new SessionStore(client.session(sessionId), {
      onIdle: () => {
        if (stores.get(sessionId) === store) stores.delete(sessionId)
      },
    }),
  )
  stores.set(sessionId, store)
  // A render on a server never subscribes, so its store never becomes idle.
  dropOldest(stores)
  return store
}

function register(store: SessionStore): SessionStore {
  storeOfSession.set(store.session, store)
  return store
}
