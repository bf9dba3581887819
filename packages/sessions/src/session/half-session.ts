import type { IdSource } from '@bowline/agent-loop'
import type { Clock, JSONObject } from '@bowline/llm'
import { commitOnce } from '../store/commit-once.ts'
import type { SessionStore } from '../store/contract.ts'
import type { SessionRecord } from '../store/records.ts'

/** A copy that nobody has written to for so long was left by a process that died. */
const deadAfterMs = 10 * 60_000
const mark = '~copying'

/** The metadata of a session until all of it is copied: nobody is to see it before. */
export const halfMark: JSONObject = { [mark]: true }

export function isHalf({ metadata }: Pick<SessionRecord, 'metadata'>): boolean {
  return metadata[mark] === true && Object.keys(metadata).length === 1
}

/** Ids of the sessions that this process is copying now. */
const underWay = new Set<string>()

export function beginHalf(id: string): void {
  underWay.add(id)
}

export function endHalf(id: string): void {
  underWay.delete(id)
}

interface HalfContext {
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: IdSource
}

/** Takes away what is there of a copy, as if it had never been. */
export async function removeHalf({ store, clock, ids }: HalfContext, { key, id }: Pick<SessionRecord, 'key' | 'id'>): Promise<void> {
  const read = await store.readSession(key)
  if (!('value' in read) || read.value.id !== id || !isHalf(read.value)) return
  // The numbers of an earlier session under the key have to stay.
  const traces = read.value.firstSeq === 1 ? ({ leavesNothing: true } as const) : {}
  await commitOnce(store, {
    id: ids.next('batch'),
    key,
    expect: [{ that: 'session', id, version: read.value.version }],
    writes: [{ op: 'session.delete', at: clock.now(), ...traces }],
  })
}

/** Its process is gone. */
export function isDeadHalf({ store, clock }: Pick<HalfContext, 'store' | 'clock'>, session: SessionRecord): boolean {
  if (!isHalf(session) || underWay.has(session.id)) return false
  return store.capabilities.processes === 'one' || session.activeAt <= clock.now() - deadAfterMs
}

/** Takes away the copies that dead processes left. Nothing ever ran in them. */
export async function removeDeadHalves(context: HalfContext): Promise<void> {
  let page: string | undefined
  do {
    const sessions = await context.store.listSessions({ status: null, limit: 1000, ...(page === undefined ? {} : { page }) })
    for (const session of sessions.items) if (isDeadHalf(context, session)) await removeHalf(context, session)
    page = sessions.next
  } while (page !== undefined)
}
