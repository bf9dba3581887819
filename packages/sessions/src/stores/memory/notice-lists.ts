import { byNewestNotice, noticeId, noticePosition } from '../../contract/notices.ts'
import type { NoticePosition, NoticeQuery, NoticeRecord } from '../../contract/notices.ts'
import { SortedLists } from './sorted-lists.ts'

export type NoticeLists = SortedLists<NoticeRecord, Pick<NoticeRecord, 'at' | 'id' | 'n'>>

/** Notices with the newest last: those of each session, and of each state, hook, or both. */
export function noticeLists(): NoticeLists {
  return new SortedLists((a, b) => byNewestNotice(noticePosition(b), noticePosition(a)), namesOf)
}

function namesOf({ session: key, state, hook }: NoticeRecord): readonly string[] {
  return [{ key }, {}, { state }, { hook }, { state, hook }].map((name) => JSON.stringify(name))
}

/** Yields the notices that match, the newest first, from after this position on. */
export function* findNotices(
  lists: NoticeLists,
  { key, state, hook }: NoticeQuery,
  after: NoticePosition | undefined,
): Iterable<NoticeRecord> {
  const name = JSON.stringify(key === undefined ? { state, hook } : { key })
  const place = after && { ...after, id: noticeId(after.sessionId, after.n) }
  for (const notice of lists.get(name)?.before(place) ?? []) {
    if ((state ?? notice.state) === notice.state && (hook ?? notice.hook) === notice.hook) yield notice
  }
}
