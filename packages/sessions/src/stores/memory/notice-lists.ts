import { byNewestNotice, noticePosition } from '../../contract/notices.ts'
import type { NoticePosition, NoticeQuery, NoticeRecord } from '../../contract/notices.ts'
import { SortedList } from './sorted-list.ts'

interface Listed extends NoticePosition {
  readonly notice: NoticeRecord
}

/** Notices in the order of lists: those of each session, and of each state, hook, or both. */
export class NoticeLists {
  readonly #lists = new Map<string, SortedList<Listed, NoticePosition>>()

  /** Must be called for each change of a notice. Undefined: it does not exist. */
  replace(before: NoticeRecord | undefined, after: NoticeRecord | undefined): void {
    for (const [name, place] of placesOf(before)) {
      const list = this.#lists.get(name)
      list?.remove(place)
      if (list?.items.length === 0) this.#lists.delete(name)
    }
    for (const [name, place] of placesOf(after)) {
      // The newest last: it is added at the end.
      const list = this.#lists.get(name) ?? new SortedList<Listed, NoticePosition>((a, b) => byNewestNotice(b, a))
      this.#lists.set(name, list)
      list.add(place)
    }
  }

  /** Yields the notices that match, the newest first, from after this position on. */
  *find({ key, state, hook }: NoticeQuery, after: NoticePosition | undefined): Iterable<NoticeRecord> {
    const name = key === undefined ? { state, hook } : { key }
    for (const { notice } of this.#lists.get(JSON.stringify(name))?.before(after) ?? []) {
      if ((state ?? notice.state) === notice.state && (hook ?? notice.hook) === notice.hook) yield notice
    }
  }
}

function placesOf(notice: NoticeRecord | undefined): readonly (readonly [name: string, place: Listed])[] {
  if (!notice) return []
  const { session: key, state, hook } = notice
  const place = { ...noticePosition(notice), notice }
  return [{ key }, {}, { state }, { hook }, { state, hook }].map((name) => [JSON.stringify(name), place])
}
