import type { SessionStore } from '../contract/session-store.ts'
import type { SessionRecord } from '../contract/records.ts'

/** Sessions whose time was over before then, as they are to be named when they are deleted. */
export async function expiredBefore(store: SessionStore, atMs: number): Promise<readonly Pick<SessionRecord, 'key' | 'id'>[]> {
  const over: Pick<SessionRecord, 'key' | 'id'>[] = []
  let page: string | undefined
  do {
    const sessions = await store.listSessions({ expired: true, limit: 1000, ...(page === undefined ? {} : { page }) })
    for (const { key, id, expiredAt = Infinity } of sessions.items) if (expiredAt < atMs) over.push({ key, id })
    page = sessions.next
  } while (page !== undefined)
  return over
}
