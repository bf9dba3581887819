import { byActivity, parseSessionPosition } from '../../contract/paging.ts'
import type { SessionPosition } from '../../contract/paging.ts'
import type { SessionQuery } from '../../contract/session-store.ts'
import type { SessionRecord } from '../../contract/records.ts'
import { readableRecord } from '../rules.ts'
import { isByPrefix, mostSorted, partsOf, partsWith } from '../session-lists.ts'
import type { HeldSession } from './held-session.ts'
import { compareTexts, SortedList } from './sorted-list.ts'

/** A session at its place in lists. */
interface Listed extends SessionPosition {
  readonly held: HeldSession
  readonly status: SessionRecord['status']
  /** Names of the parts that hold it. */
  readonly parts: readonly string[]
}

/** Sessions in the order of lists. */
export class SessionLists {
  readonly #listed = new Map<string, Listed>()
  readonly #keys = new SortedList<string>(compareTexts)
  /** Oldest activity first: a session that moves comes to the end. */
  readonly #parts = new Map<string, SortedList<Listed, SessionPosition>>()

  /** Must be called after each change of a session. Undefined means that the key has no session. */
  update(key: string, held: HeldSession | undefined): void {
    const before = this.#listed.get(key)
    const { activeAt = 0, status } = held?.record ?? {}
    if (before?.held === held && before?.activeAt === activeAt && before.status === status) return
    for (const part of before?.parts ?? []) this.#drop(part, before as Listed)
    if (before && !held) this.#keys.remove(key)
    if (!before && held) this.#keys.add(key)
    if (!held) return void this.#listed.delete(key)
    const listed = { key, activeAt, status, held, parts: partsWith(held.record).map((part) => JSON.stringify(part)) }
    this.#listed.set(key, listed)
    for (const part of listed.parts) {
      const list = this.#parts.get(part) ?? new SortedList((a, b) => byActivity(b, a))
      this.#parts.set(part, list)
      list.add(listed)
    }
  }

  #drop(part: string, listed: Listed): void {
    const list = this.#parts.get(part)
    list?.remove(listed)
    if (list?.items.length === 0) this.#parts.delete(part)
  }

  /** Returns the first sessions that match, in the order of the list. */
  find(query: SessionQuery, now: number, most: number): readonly SessionRecord[] {
    const after = query.page === undefined ? undefined : parseSessionPosition(query.page)
    const parts = this.#ofPrefix(query) ?? partsOf(query).map((part) => this.#ofPart(JSON.stringify(part), after))
    return parts.flatMap((sessions) => firstMatches(sessions, { ...query, after, now, most })).sort(byActivity).slice(0, most)
  }

  #ofPrefix(query: SessionQuery): readonly Iterable<Listed>[] | undefined {
    if (!isByPrefix(query)) return undefined
    const { keyPrefix = '' } = query
    const start = this.#keys.placeOf(keyPrefix)
    const keys = this.#keys.items.slice(start, start + mostSorted + 1).filter((key) => key.startsWith(keyPrefix))
    if (keys.length > mostSorted) return undefined
    return [keys.flatMap((key) => this.#listed.get(key) ?? []).sort(byActivity)]
  }

  *#ofPart(part: string, after: SessionPosition | undefined): Iterable<Listed> {
    const list = this.#parts.get(part)
    if (!list) return
    for (let place = after ? list.placeOf(after) : list.items.length; place > 0; place--) yield list.items[place - 1] as Listed
  }
}

interface Wanted extends SessionQuery {
  readonly after: SessionPosition | undefined
  readonly now: number
  readonly most: number
}

/** Returns the first of these sessions that match. They are in the order of the list. */
function firstMatches(sessions: Iterable<Listed>, wanted: Wanted): readonly SessionRecord[] {
  const { activeSince = 0, after, now, most } = wanted
  const found: SessionRecord[] = []
  for (const { held, activeAt } of sessions) {
    if (found.length >= most || activeAt < activeSince) break
    const record = readableRecord(held.record, now)
    if ((!after || byActivity(after, record) < 0) && matches(record, wanted)) found.push(record)
  }
  return found
}

function matches(record: SessionRecord, { agent, status, expired, keyPrefix = '', parent }: SessionQuery): boolean {
  return (
    (agent === undefined || record.agent === agent) &&
    (status === undefined || (status === null ? record.status === undefined : status.some((word) => word === record.status))) &&
    (expired === undefined || (record.expiredAt !== undefined) === expired) &&
    record.key.startsWith(keyPrefix) &&
    (parent === undefined || (record.parent ?? null) === parent)
  )
}
