import type { JSONValue } from '@bowline/llm'
import type { CommitResult, NewEntry, NewEvent } from '../contract/batch.ts'
import { noticeId, type NoticeRecord } from '../contract/notices.ts'
import type { InboxKind, InboxRecord, RunKind, RunRecord, SessionRecord, TimerRecord, ToolCallRecord } from '../contract/records.ts'
import { isHolding, isOpen } from '../contract/run-status.ts'
import { charactersIn } from '../json.ts'
import { tenantOf } from '../keys.ts'
import type { Row, Value } from '../rows/contract.ts'
import { inputKindsThatStart, claimableAt, tenantOfRun, type Numbers, type RunState } from './rules.ts'
import { packEvents, unpackEvents, usualKey, type PackedEvents } from './packed-events.ts'
import { sectionOf } from './session-lists.ts'

/** The last batch that wrote a record, with its result for a repeat of that batch. */
export interface LastBatch extends Pick<Extract<CommitResult, { ok: true }>, 'version' | 'firstSeq' | 'lastSeq'> {
  readonly id: string
}

/** First open run of a session: the one that holds it, else the next of its queue. */
export interface FirstRun extends Pick<RunRecord, 'id' | 'status' | 'createdAt'> {
  readonly notBefore?: number
  /** Tenant whose limit applies to it. */
  readonly tenant?: string
}

/** A session with what its decisions need to know of its other rows. */
export interface Head {
  readonly record: SessionRecord
  /** Rises with every change of any of its rows, claims of notices and renewed leases apart. */
  readonly revision: number
  readonly nextEntry: number
  readonly nextInbox: number
  /** Number of open runs of each kind. */
  readonly openRuns: Readonly<Partial<Record<RunKind, number>>>
  readonly queuedRuns: number
  readonly first?: FirstRun
  /** Number of inbox rows of each kind. */
  readonly inbox: Readonly<Partial<Record<InboxKind, number>>>
  /** Number of pending notices of each hook. */
  readonly pending: Readonly<Record<string, number>>
  /** End of the oldest run. Absent: it is open, or there is none. */
  readonly oldestEnd?: number
  /** Number of the oldest run. */
  readonly oldestRun?: number
  readonly last?: LastBatch
}

/** Status of most sessions, and of most runs that have ended: no index holds it. */
export const usualStatus = 'completed'

function rare(status: string | undefined): Value {
  return status === undefined || status === usualStatus ? null : status
}

export function newHead(record: SessionRecord): Head {
  return { record, revision: 0, nextEntry: 1, nextInbox: 1, openRuns: {}, queuedRuns: 0, inbox: {}, pending: {} }
}

/** Fields that a claim does not change, the rarest last. A database that logs the changed part of a row then logs little. */
const stable = ['last', 'place', 'kind', 'inputHash', 'options', 'parent', 'origin', 'firstSeq', 'id', 'createdAt', 'settings', 'metadata']

export function sessionRow(head: Head): Row {
  const { record, revision, ...counts } = head
  const { first, oldestEnd, inbox } = counts
  const { key, agent, parent = null, status, activeAt, expiresAt = null, ...rest } = record
  const isOver = record.expiredAt !== undefined
  const isUnread = !first && !isOver && inputKindsThatStart.some((kind) => (inbox[kind] ?? 0) > 0)
  const next = first?.status === 'queued' && !isOver ? first : undefined
  return {
    key,
    revision,
    section: sectionOf(record),
    activeAt,
    agent,
    tenant: tenantOf(key) ?? null,
    parent,
    status: status ?? null,
    rareStatus: rare(status),
    unused: status === undefined ? 1 : null,
    expiresAt,
    startAt: next ? Math.max(next.createdAt, next.notBefore ?? 0) : null,
    notBefore: next?.notBefore ?? null,
    startTenant: next?.tenant ?? null,
    unread: isUnread ? 1 : null,
    oldestEnd: oldestEnd ?? null,
    body: bodyOf({ ...counts, record: bodyOf(rest, stable) }),
  }
}

export function firstRun(run: RunState): FirstRun {
  const { id, status, createdAt, notBefore, session } = run
  const tenant = tenantOfRun(session, run)
  return { id, status, createdAt, ...(notBefore !== undefined && { notBefore }), ...(tenant !== null && { tenant }) }
}

export function headOf(row: Row): Head {
  const { record, ...rest } = row.body as unknown as Omit<Head, 'revision'>
  const { key, agent, activeAt, parent, status, expiresAt, revision } = row
  const columns = withoutNull({ key, agent, activeAt, parent, status, expiresAt })
  return { ...rest, record: { ...columns, ...record }, revision: revision as number }
}

/** Returns the values of columns as a record has them. */
function withoutNull(columns: Readonly<Record<string, JSONValue | undefined>>): object {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null && value !== undefined))
}

export type Tombstone = Numbers & { readonly deletedAt: number }

/** A stored run: its state, the number of calls without an outcome, and the last batch that was fenced by it or inserted it. */
export interface StoredRun {
  readonly state: RunState
  readonly openCalls: number
  readonly last?: LastBatch
}

/** Place of the run that holds its session: before all queued ones. */
const holdingPlace = -1

export function runRow(run: StoredRun): Row {
  const { state, ...counts } = run
  const { id, session, n, status, inputId = null, createdAt, definition = null, leaseUntil: _until, ...rest } = state
  const { parent, place } = rest
  return {
    id,
    session,
    n,
    status,
    rareStatus: rare(status),
    place: isOpen(status) ? (isHolding(status) ? holdingPlace : place) : null,
    parentRun: parent?.runId ?? null,
    parentSession: parent?.session ?? null,
    inputId,
    createdAt,
    definition,
    body: bodyOf({ ...counts, ...rest }, stable),
  }
}

export function storedRun(row: Row): StoredRun {
  const { id, session, n, status, inputId, createdAt, definition } = row
  const { last, openCalls, ...rest } = row.body as unknown as Omit<StoredRun, 'state'> & RunState
  const state = { ...withoutNull({ id, session, n, status, inputId, createdAt, definition }), ...rest }
  return { openCalls, state, ...(last && { last }) }
}

/** Returns the lease of a running run. Only runs that were lost before have to wait until they can be claimed again. */
export function leaseRow(run: RunState): Row {
  const { id, session, owner = '', epoch, leaseUntil = 0, claimedAt = 0, attempts, stop } = run
  return {
    run: id,
    session,
    owner,
    epoch,
    until: leaseUntil,
    claimedAt,
    retryAt: attempts > 0 ? claimableAt(run, claimedAt) : null,
    tenant: tenantOfRun(session, run),
    stop: stop ? JSON.stringify(stop) : null,
    body: null,
  }
}

export function runRecord(row: Row, input: Row | undefined, lease: Row | undefined): RunRecord {
  const { state } = storedRun(row)
  const until = lease && state.status === 'running' ? { leaseUntil: lease['until'] as number } : {}
  return { ...state, ...until, input: input?.body ?? null }
}

/** The body holds what no column holds, and the key only if it is not the usual one. */
export function callRow(call: ToolCallRecord, turn: number): Row {
  const { runId: run, step, toolCallId, session, index, idempotencyKey, ...rest } = call
  const given = idempotencyKey === usualKey(call) ? {} : { idempotencyKey }
  return { run, step, toolCallId, session, index, turn, approvalId: call.approval?.approvalId ?? null, body: bodyOf({ ...rest, ...given }) }
}

export function callRecord({ run, step, toolCallId, session, index, body }: Row): ToolCallRecord {
  const key = { runId: run as string, step: step as number, toolCallId: toolCallId as string }
  return { ...key, session, index, idempotencyKey: usualKey(key), ...(body as object) } as ToolCallRecord
}

export type StoredEntry = NewEntry & { readonly n: number }

export function entryRow(session: string, entry: StoredEntry): Row {
  const { id, n, parentId, ...rest } = entry
  return { session, id, n, parentId, body: bodyOf(rest) }
}

export function storedEntry({ id, n, parentId, body }: Row): StoredEntry {
  return { id, n, parentId, ...(body as object) } as unknown as StoredEntry
}

/** Limit of events in one row: their text takes a part of the 16 MiB that stores accept, however it is encoded. */
const mostCharacters = 2 ** 20

/** Divides the events of a commit by the rows that hold them: one, unless they are very long together. */
export function eventsByRow(events: readonly NewEvent[]): readonly (readonly NewEvent[])[] {
  const parts: NewEvent[][] = []
  let characters = Infinity
  for (const event of events) {
    const more = charactersIn(event)
    if (characters + more > mostCharacters) {
      parts.push([])
      characters = 0
    }
    parts.at(-1)?.push(event)
    characters += more
  }
  return parts
}

/** Events of one commit. `seq` is the number of the last one. */
export function eventRow(session: string, seq: number, events: readonly NewEvent[]): Row {
  return { session, seq, body: packEvents(events) as unknown as JSONValue }
}

export function eventsIn(row: Row): readonly (NewEvent & { readonly seq: number })[] {
  const events = unpackEvents(row.body as unknown as PackedEvents)
  const last = row['seq'] as number
  return events.map((event, index) => ({ ...event, seq: last - events.length + 1 + index }))
}

export function inboxRow(session: string, n: number, record: InboxRecord): Row {
  const { id, kind, at } = record
  return { session, id, n, kind, at, body: bodyOf(record) }
}

export function inboxRecord({ body }: Row): InboxRecord {
  return body as unknown as InboxRecord
}

export function timerRecord(row: Row): TimerRecord {
  const { session, id, kind, dueAt, body } = row
  return { id, session, kind, dueAt, body } as unknown as TimerRecord
}

export function noticeRow(notice: NoticeRecord, sessionId: string, receiver: string): Row {
  const { session, n, hook, at, state, attempts, dueAt = null, settledAt = null, queuedAt } = notice
  const line = state === 'pending' ? hook : null
  return {
    session,
    n,
    sessionId,
    hook,
    receiver,
    at,
    state,
    attempts,
    dueAt,
    line,
    settledAt,
    queuedAt: line === null ? null : queuedAt,
    body: bodyOf({ type: notice.type, body: notice.body, error: notice.error, queuedAt }),
  }
}

export function noticeRecord(row: Row): NoticeRecord {
  const { session, n, sessionId, hook, at, state, attempts, dueAt, settledAt } = row
  const { type, body, error, queuedAt } = row.body as unknown as Pick<NoticeRecord, 'type' | 'body' | 'error' | 'queuedAt'>
  return {
    id: noticeId(sessionId as string, n as number),
    session: session as string,
    n: n as number,
    hook: hook as string,
    type,
    at: at as number,
    body,
    state: state as NoticeRecord['state'],
    attempts: attempts as number,
    queuedAt,
    ...(dueAt === null ? {} : { dueAt: dueAt as number }),
    ...(settledAt === null ? {} : { settledAt: settledAt as number }),
    ...(error === undefined ? {} : { error }),
  }
}

/** Returns the record without absent fields, as JSON keeps it, with these fields at the end. */
function bodyOf(record: object, atEnd: readonly string[] = []): JSONValue {
  const fields = Object.entries(record).filter(([, value]) => value !== undefined)
  if (atEnd.length > 0) fields.sort(([a], [b]) => atEnd.indexOf(a) - atEnd.indexOf(b))
  return Object.fromEntries(fields) as JSONValue
}

/** Returns the columns and body that differ between two rows. */
export function changedValues(before: Row, after: Row): Partial<Row> {
  return Object.fromEntries(Object.entries(after).filter(([name, value]) => before[name] !== value)) as Partial<Row>
}
