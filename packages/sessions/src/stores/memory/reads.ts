import type { EventPage, Found, SessionStore } from '../../contract/session-store.ts'
import type { EntryRecord, RunRecord, TimerRecord } from '../../contract/records.ts'
import { branchesOf, pageOfBranches } from '../../core/branches.ts'
import { copyJson } from '../../json.ts'
import { compareIds, pageLimit, pageOf, parseCreationPosition, parseNumberPosition } from '../../contract/paging.ts'
import { parseTimerPosition, printCreationPosition, printSessionPosition, printTimerPosition } from '../../contract/paging.ts'
import type { CreationPosition, Page, TimerPosition } from '../../contract/paging.ts'
import { readOfSession, wholeEvent } from '../../core/rules.ts'
import { isOpen } from '../../contract/run-status.ts'
import { childrenOf } from './children.ts'
import { dueIn } from './due.ts'
import { entryOf, filledIn, wholeEntry } from './held-session.ts'
import type { HeldSession } from './held-session.ts'
import { listNotices } from './notices.ts'
import type { Space, Tombstone } from './space.ts'

export type Reads = Pick<
  SessionStore,
  | 'readSession'
  | 'readPath'
  | 'readEvents'
  | 'readRun'
  | 'readCalls'
  | 'readCall'
  | 'readApproval'
  | 'readInbox'
  | 'readDefinition'
  | 'listSessions'
  | 'listRuns'
  | 'listChildren'
  | 'listBranches'
  | 'listTimers'
  | 'listNotices'
  | 'due'
>

/** Reads of a store from memory. Results are copies. */
export function readsOf(space: () => Space, now: () => number): Reads {
  const session = (key: string): HeldSession | undefined => space().sessions.get(key)
  const runOf = (runId: string): RunRecord | undefined => space().sessionOfRun.get(runId)?.runs.get(runId)

  return {
    async readSession(key) {
      const record = session(key)?.record
      if (record) return readOfSession(copyJson(record), now())
      const tombstone = space().tombstones.get(key)
      return tombstone ? { status: 'deleted', at: tombstone.deletedAt } : { status: 'missing' }
    },
    async readPath(key, { leaf, before, limit } = {}) {
      const held = session(key)
      if (!held) return { items: [] }
      const start = before === undefined ? (leaf === undefined ? held.record.leaf : leaf) : entryOf(held, before).parentId
      const most = pageLimit(limit)
      const items: EntryRecord[] = []
      for (let id = start; id !== null && items.length <= most; id = entryOf(held, id).parentId) {
        items.push(copyJson(wholeEntry(held, entryOf(held, id))))
      }
      return pageOf(items, most, (last) => last.id)
    },
    async readEvents(key, after, limit) {
      const held = session(key)
      if (!held) return noEvents(space().tombstones.get(key))
      const { firstSeq, nextSeq } = held.record
      const events = []
      for (let seq = Math.max(after + 1, firstSeq); seq < nextSeq && events.length < limit; seq++) {
        const stored = held.events.get(seq)
        if (stored) events.push(copyJson(wholeEvent(stored.event, seq, filledIn(held, stored.refers))))
      }
      return { events, firstSeq, lastSeq: nextSeq - 1, sessionId: held.record.id }
    },
    async readRun(runId) {
      return found(runOf(runId))
    },
    async readCalls(runId, step) {
      const calls = [...(space().sessionOfRun.get(runId)?.calls.get(runId)?.values() ?? [])]
      const wanted = calls.filter((call) => step === undefined || call.step === step)
      return copyJson(wanted.sort((a, b) => a.step - b.step || a.index - b.index))
    },
    async readCall(key, toolCallId) {
      return found(session(key)?.newestCalls.get(toolCallId))
    },
    async readApproval(approvalId) {
      const place = space().approvals.get(approvalId)
      const call = place?.calls.get(place.id)
      return found(call?.approval?.approvalId === approvalId ? call : undefined)
    },
    async readInbox(key, kinds) {
      return copyJson([...(session(key)?.inbox.values() ?? [])].filter((row) => kinds.includes(row.kind)))
    },
    async readDefinition(hash) {
      const body = space().definitions.get(hash)
      return body && copyJson(body)
    },
    async listSessions(query) {
      const most = pageLimit(query.limit)
      const { lists, times } = space().index
      return pageOf(copyJson(lists.find(query, now(), most + 1, times.until(now()))), most, printSessionPosition)
    },
    async listRuns(key, { status, newestFirst = false, limit, page } = {}) {
      const order = newestFirst ? -1 : 1
      const after = page === undefined ? undefined : parseNumberPosition(page)
      const held = session(key)
      const wanted = (run: RunRecord): boolean =>
        (after === undefined || order * (run.n - after) > 0) && (status === undefined || status.includes(run.status))
      const runs = [...((status?.every(isOpen) ? held?.openRuns : held?.runs)?.values() ?? [])].sort((a, b) => order * (a.n - b.n))
      return pageWith(runs, wanted, limit, (last) => String(last.n))
    },
    async listChildren({ parent, status, limit, page }) {
      const after = page === undefined ? beforeAll : parseCreationPosition(page)
      const wanted = (run: RunRecord): boolean => run.id !== after.id && (status === undefined || status.includes(run.status))
      return pageWith(childrenOf(space(), parent, after), wanted, limit, printCreationPosition)
    },
    async listBranches(key, query = {}) {
      return pageOfBranches(branchesOf(session(key)?.entries.values() ?? []), { page: query.page, limit: query.limit })
    },
    async listTimers({ kind, key, limit, page }) {
      const after = page === undefined ? undefined : parseTimerPosition(page)
      const wanted = (timer: TimerRecord): boolean => timer.kind === kind && (after === undefined || bySession(after, timer) < 0)
      const held = key === undefined ? space().index.lists.withTimer(kind, after?.session ?? '') : [session(key) ?? []].flat()
      return pageWith(timersOf(held), wanted, limit, printTimerPosition)
    },
    async listNotices(query) {
      return copyJson(listNotices(space(), query))
    },
    async due(limit, { runs = false } = {}) {
      return copyJson(dueIn(space(), now(), limit, runs))
    },
  }
}

function found<T>(value: T | undefined): Found<T> {
  return value === undefined ? { status: 'missing' } : { status: 'found', value: copyJson(value) }
}

function noEvents(tombstone: Tombstone | undefined): EventPage {
  if (!tombstone) return { events: [], firstSeq: 1, lastSeq: 0 }
  const { nextSeq, deletedAt } = tombstone
  return { events: [], firstSeq: nextSeq, lastSeq: nextSeq - 1, deletedAt }
}

const beforeAll: CreationPosition = { createdAt: -1, id: '' }

/** Returns the first of these items that are wanted. */
function pageWith<T>(items: Iterable<T>, wanted: (item: T) => boolean, limit: number | undefined, print: (last: T) => string): Page<T> {
  const most = pageLimit(limit)
  const found: T[] = []
  for (const item of items) {
    if (wanted(item)) found.push(item)
    if (found.length > most) break
  }
  return pageOf(copyJson(found), most, print)
}

function* timersOf(sessions: Iterable<HeldSession>): Iterable<TimerRecord> {
  for (const { timers } of sessions) yield* [...timers.values()].sort(bySession)
}

function bySession(a: TimerPosition, b: TimerPosition): number {
  return compareIds(a.session, b.session) || compareIds(a.id, b.id)
}
