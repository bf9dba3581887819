import type { StateStore } from '../contract/state-store.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { checkAnyKey } from '../keys.ts'
import { checkPlace } from '../contract/check-state.ts'
import { stateStoreOf } from '../state/state-store-of.ts'
import { childPrefixOf } from './state-id.ts'

export const defaultNamespace = 'orchestration-state'

/** Removes the orchestration state of a session and of its child runs. Call it when you delete the session. */
export async function removeOrchestrationState(
  given: StateStore | SessionStore,
  sessionKey: string,
  namespace = defaultNamespace,
): Promise<void> {
  checkAnyKey(sessionKey)
  checkPlace(namespace, 'any')
  const store = stateStoreOf(given)
  await store.delete(namespace, sessionKey)
  for (;;) {
    // Deleted records are not listed again.
    const { items, next } = await store.list(namespace, { prefix: childPrefixOf(sessionKey) })
    for (const { id } of items) await store.delete(namespace, id)
    if (next === undefined) return
  }
}
