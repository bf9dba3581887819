import { compareIds, byActivity, parseSessionPosition } from '../../contract/paging.ts'
import type { SessionPosition } from '../../contract/paging.ts'
import type { SessionQuery } from '../../contract/session-store.ts'
import type { SessionRecord, TimerKind } from '../../contract/records.ts'
import { readableRecord } from '../../core/rules.ts'
import { isByPrefix, isListed, mostSorted, partsOf, partsWith } from '../../core/session-lists.ts'
import type { HeldSession } from './held-session.ts'
import { SortedList } from './sorted-list.ts'

/** A session at its place in lists. */
interface Listed extends SessionPosition {
  readonly held: HeldSession
  /** Names of the lists that hold it. */
  readonly names: readonly string[]
}

const byKey = (a: SessionPosition, b: SessionPosition): number => compareIds(a.key, b.key)
/** Oldest activity first: a session that moves comes to the end. */
const oldestFirst = (a: SessionPosition, b: SessionPosition): number => byActivity(b, a)

/** Sessions in the order of lists. */
export class SessionLists {
  readonly #listed = new Map<string, Listed>()
  readonly #lists = new Map<string, SortedList<Listed, SessionPosition>>()

  /** Must be called after each change of a session. Undefined means that the key has no session. */
  update(key: string, held: HeldSession | undefined): void {
    const before = this.#listed.get(key)
    const listed = held && { key, held, activeAt: held.record.activeAt, names: namesOf(held) }
    if (before && listed && before.held === held && byActivity(before, listed) === 0 && before.names.join() === listed.names.join()) return
    for (const name of before?.names ?? []) {
      const list = this.#lists.get(name)
      list?.remove(before as Listed)
      if (list?.items.length === 0) this.#lists.delete(name)
    }
    if (!listed) return void this.#listed.delete(key)
    this.#listed.set(key, listed)
    for (const name of listed.names) {
      const list = this.#lists.get(name) ?? new SortedList(name.startsWith('{') ? oldestFirst : byKey)
      this.#lists.set(name, list)
      list.add(listed)
    }
  }

  /** Returns the first sessions that match, in the order of the list. `due` must yield all that have expired and are not marked yet. */
  find(query: SessionQuery, now: number, most: number, due: Iterable<HeldSession>): readonly SessionRecord[] {
    const after = query.page === undefined ? undefined : parseSessionPosition(query.page)
    const parts = this.#ofPrefix(query) ?? [
      ...partsOf(query).map((part) => this.#lists.get(JSON.stringify(part))?.before(after) ?? []),
      ...(query.expired ? [unmarked(due)] : []),
    ]
    return parts
      .flatMap((sessions) => firstMatches(sessions, { ...query, after, now, most }))
      .sort(byActivity)
      .slice(0, most)
  }

  /** Yields the sessions with a timer of this kind in the order of their keys, from this key on. */
  *withTimer(kind: TimerKind, key: string): Iterable<HeldSession> {
    for (const { held } of this.#lists.get(kind)?.from({ key, activeAt: 0 }) ?? []) yield held
  }

  #ofPrefix(query: SessionQuery): readonly Iterable<Listed>[] | undefined {
    if (!isByPrefix(query)) return undefined
    const { keyPrefix = '' } = query
    const found: Listed[] = []
    for (const listed of this.#lists.get('')?.from({ key: keyPrefix, activeAt: 0 }) ?? []) {
      if (!listed.key.startsWith(keyPrefix)) break
      if (found.push(listed) > mostSorted) return undefined
    }
    return [found.sort(byActivity)]
  }
}

/** Parts of lists are in the order of activity. The list of all and those with a kind of timer are in the order of keys. */
function namesOf({ record, timers }: HeldSession): readonly string[] {
  const kinds = new Set([...timers.values()].map(({ kind }) => kind))
  return ['', ...kinds, ...partsWith(record).map((part) => JSON.stringify(part))]
}

function unmarked(due: Iterable<HeldSession>): readonly Pick<Listed, 'held'>[] {
  const all = [...due].filter(({ record }) => record.expiredAt === undefined)
  return all.sort((a, b) => byActivity(a.record, b.record)).map((held) => ({ held }))
}

interface Wanted extends SessionQuery {
  readonly after: SessionPosition | undefined
  readonly now: number
  readonly most: number
}

/** Returns the first of these sessions that match. They are in the order of the list. */
function firstMatches(sessions: Iterable<Pick<Listed, 'held'>>, wanted: Wanted): readonly SessionRecord[] {
  const { activeSince = 0, after, now, most } = wanted
  const found: SessionRecord[] = []
  for (const { held } of sessions) {
    const record = readableRecord(held.record, now)
    if (found.length >= most || record.activeAt < activeSince) break
    if ((!after || byActivity(after, record) < 0) && isListed(record, wanted)) found.push(record)
  }
  return found
}
