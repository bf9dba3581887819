import type { IdSource } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import type { SessionStore } from '../../contract/session-store.ts'
import type { SessionRecord } from '../../contract/records.ts'

/** Age in ms after which a partial copy without writes counts as left by a dead process. */
const deadAfterMs = 10 * 60_000
const mark = '~copying'

/** Metadata of a session until it is completely copied. A marked session is hidden. */
export const partialCopyMark: JSONObject = { [mark]: true }

export function isPartialCopy({ metadata }: Pick<SessionRecord, 'metadata'>): boolean {
  return metadata[mark] === true && Object.keys(metadata).length === 1
}

/** Ids of the sessions that this process is copying. */
const underWay = new Set<string>()

export function beginPartialCopy(id: string): void {
  underWay.add(id)
}

export function endPartialCopy(id: string): void {
  underWay.delete(id)
}

interface CopyContext {
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: IdSource
}

/** Removes a partial copy without a trace. */
export async function removePartialCopy({ store, clock, ids }: CopyContext, { key, id }: Pick<SessionRecord, 'key' | 'id'>): Promise<void> {
  const read = await store.readSession(key)
  if (!('value' in read) || read.value.id !== id || !isPartialCopy(read.value)) return
  // The numbers of an earlier session under the key must remain.
  const traces = read.value.firstSeq === 1 ? ({ leavesNothing: true } as const) : {}
  await store.commit({
    id: ids.next('batch'),
    key,
    expect: [{ that: 'session', id, version: read.value.version }],
    writes: [{ op: 'session.delete', at: clock.now(), ...traces }],
  })
}

/** True if the process that made the copy is gone. */
export function isAbandonedCopy({ store, clock }: Pick<CopyContext, 'store' | 'clock'>, session: SessionRecord): boolean {
  if (!isPartialCopy(session) || underWay.has(session.id)) return false
  return store.capabilities.processes === 'one' || session.activeAt <= clock.now() - deadAfterMs
}

/** Removes the partial copies of dead processes. No run has ever started in them. */
export async function removeAbandonedCopies(context: CopyContext): Promise<void> {
  let page: string | undefined
  do {
    const sessions = await context.store.listSessions({ status: null, limit: 1000, ...(page === undefined ? {} : { page }) })
    for (const session of sessions.items) if (isAbandonedCopy(context, session)) await removePartialCopy(context, session)
    page = sessions.next
  } while (page !== undefined)
}
