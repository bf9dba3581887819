import { announceable, holdingStatuses } from '@bowline/sessions/internal'
import type { EntryRecord, InboxKind, Page, RunRecord, RunStatus, SessionRecord, SessionStore, StoredEvent } from '@bowline/sessions'
import type { SessionEnd } from './types.ts'

const pageSize = 1000
const inboxKinds = Object.keys({
  answer: true,
  decision: true,
  steer: true,
  overlay: true,
  taken: true,
  'child-settled': true,
  'child-changed': true,
} satisfies Record<InboxKind, true>) as InboxKind[]
const holding: readonly string[] = holdingStatuses
const open: readonly RunStatus[] = ['queued', ...holdingStatuses]

/** Returns true if nothing can progress by itself: no run is running or due, and each queued run comes after one that waits. */
export async function isAtRest(store: SessionStore): Promise<boolean> {
  for (const { key } of await sessionsOf(store)) {
    if (!isResting(await allPages((page) => store.listRuns(key, { status: open, limit: pageSize, ...page })))) return false
  }
  const { unread } = await store.due(pageSize)
  for (const key of unread) if (await startsRun(store, key)) return false
  return true
}

/** Returns true if a run will be started for rows of the inbox. */
export async function startsRun(store: SessionStore, key: string): Promise<boolean> {
  return (await store.readInbox(key, ['steer'])).length > 0 || (await announceable(store, key)).length > 0
}

export function isResting(runs: readonly RunRecord[]): boolean {
  if (runs.some((run) => run.status === 'running')) return false
  return runs.every((run) => run.status !== 'queued') || runs.some((run) => holding.includes(run.status))
}

/** Reads everything in the store. */
export async function readSessions(store: SessionStore): Promise<readonly SessionEnd[]> {
  const sessions = await sessionsOf(store)
  return Promise.all([...sessions].sort((a, b) => (a.key < b.key ? -1 : 1)).map((record) => readSession(store, record)))
}

/** The part of a session that shows its pending work. It is read far more often than the rest. */
export type PendingWork = Pick<SessionEnd, 'record' | 'runs' | 'inbox'>

export async function readPendingWork(store: SessionStore): Promise<readonly PendingWork[]> {
  return Promise.all((await sessionsOf(store)).map((record) => pendingWorkOf(store, record)))
}

async function pendingWorkOf(store: SessionStore, record: SessionRecord): Promise<PendingWork> {
  const runs = await allPages((page) => store.listRuns(record.key, { limit: pageSize, ...page }))
  return { record, runs, inbox: await store.readInbox(record.key, inboxKinds) }
}

async function readSession(store: SessionStore, record: SessionRecord): Promise<SessionEnd> {
  const { key } = record
  const { runs, inbox } = await pendingWorkOf(store, record)
  const calls = await Promise.all(runs.map((run) => store.readCalls(run.id)))
  const path = (await pathOf(store, key)).reverse()
  const messages = path.flatMap((entry) => (entry.type === 'message' ? entry.message : []))
  return { record, runs, calls: calls.flat(), log: await logOf(store, key), path, messages, inbox }
}

function sessionsOf(store: SessionStore): Promise<SessionRecord[]> {
  return allPages((page) => store.listSessions({ limit: pageSize, ...page }))
}

/** Returns the active path, newest first. */
async function pathOf(store: SessionStore, key: string): Promise<EntryRecord[]> {
  const first = await store.readPath(key, { limit: pageSize })
  const entries = [...first.items]
  for (let next = first.next; next !== undefined;) {
    const page = await store.readPath(key, { limit: pageSize, before: next })
    entries.push(...page.items)
    next = page.next
  }
  return entries
}

async function logOf(store: SessionStore, key: string): Promise<StoredEvent[]> {
  const log: StoredEvent[] = []
  for (;;) {
    const { events, lastSeq } = await store.readEvents(key, log.at(-1)?.seq ?? 0, pageSize)
    log.push(...events)
    if (events.length === 0 || (events.at(-1)?.seq ?? 0) >= lastSeq) return log
  }
}

async function allPages<T>(read: (page: { readonly page?: string }) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = []
  let page: { readonly page?: string } = {}
  for (;;) {
    const found = await read(page)
    items.push(...found.items)
    if (found.next === undefined) return items
    page = { page: found.next }
  }
}
