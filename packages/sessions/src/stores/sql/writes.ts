import { sql } from 'kysely'
import type { CallKey, NewEntry, NewEvent, NewSession, Write } from '../../contract/batch.ts'
import { noticeOfExpiry, noticesOfEvents } from '../../contract/draft-notices.ts'
import { tenantOf } from '../../keys.ts'
import { refuseUnless } from '../../core/refused.ts'
import { expireSession, firstNumbers, newSession, patchSession } from '../../core/rules.ts'
import { listedColumns } from './sessions.ts'
import { deleteSession, deleteTombstone } from './delete-session.ts'
import { storedContent } from './entries.ts'
import { nameIn } from './known.ts'
import { putNotices } from './notices.ts'
import { packEvents, runNamedIn } from '../../core/packed-events.ts'
import { columnsOf, statement } from './statement.ts'
import type { DefinitionTable, EntryTable, EventTable, InboxTable, NewSessionRow, TimerTable } from './tables.ts'
import { textValue } from './values.ts'
import { findRun, fits, hasEntry, placeOf, recordText, requireRun, sessionOf, write } from './work.ts'
import type { Work } from './work.ts'
import { putCall } from './write-calls.ts'
import { applyRunPatch, insertRun, takeRow } from './write-runs.ts'

type Writes = { readonly [T in Write['op']]: (work: Work, write: Extract<Write, { op: T }>) => void }

/** One function per kind of write. */
const writes: Writes = {
  'session.ensure'(work, { session }) {
    if (!work.session) insertSession(work, session)
  },

  'session.patch'(work, { patch }) {
    const session = sessionOf(work)
    if (typeof patch.leaf === 'string') refuseUnless(hasEntry(work, patch.leaf), 'conflict')
    if (patch.metadata) write(work, updateMetadata, { row: session.row, metadata: JSON.stringify(patch.metadata) })
    session.record = patchSession(session.record, patch)
  },

  'session.expire'(work) {
    const session = sessionOf(work)
    const { expiredAt } = session.record
    session.record = expireSession(session.record, work.now)
    if (expiredAt === undefined) putNotices(work, (record) => [noticeOfExpiry(record)])
  },

  'session.delete': (work, deletion) => deleteSession(work, deletion),

  'entry.append'(work, { entries }) {
    sessionOf(work)
    for (const entry of entries) insertEntry(work, entry)
  },

  'event.append'(work, { events }) {
    sessionOf(work)
    if (events.length > 0) insertEvents(work, events)
    putNotices(work, (session) => noticesOfEvents(session, events))
  },

  'run.insert': (work, { run }) => insertRun(work, run),
  'run.patch': (work, { runId, patch }) => applyRunPatch(work, runId, patch),

  'call.put'(work, { calls }) {
    for (const call of calls) putCall(work, call)
  },

  'inbox.put'(work, { rows }) {
    const { row: session, record } = sessionOf(work)
    for (const { id, kind, at, body } of rows) {
      const text = recordText(work.context, body, `The inbox row ${id}`)
      refuseUnless(!hasInboxRow(work, session, id), 'inbox')
      work.inboxRows.set(id, true)
      write(work, insertInbox, { session, id, kind, at, body: text, version: record.version, place: work.inboxPut++ })
    }
  },

  'inbox.take'(work, { ids }) {
    const { row: session } = sessionOf(work)
    for (const id of ids) {
      work.inboxRows.set(id, false)
      write(work, deleteInbox, { session, id })
    }
  },

  'inbox.patch'(work, { rows }) {
    const { row: session } = sessionOf(work)
    for (const { id, kind, body } of rows)
      write(work, updateInbox, { session, id, kind, body: recordText(work.context, body, `The inbox row ${id}`) })
  },

  'definition.put'(work, { hash, body }) {
    sessionOf(work)
    const { namespace } = work.context
    write(work, insertDefinition, { namespace, hash, body: recordText(work.context, body, 'A definition') })
  },

  'timer.put'(work, { timers }) {
    const { row: session } = sessionOf(work)
    const { namespace } = work.context
    for (const { id, kind, dueAt, body } of timers) {
      write(work, putTimer, {
        namespace,
        session,
        key: work.key,
        id,
        kind,
        due_at: dueAt,
        body: recordText(work.context, body, `The timer ${id}`),
      })
    }
  },

  'timer.drop'(work, { ids }) {
    const { row: session } = sessionOf(work)
    for (const id of ids) write(work, deleteTimer, { session, id })
  },
}

export function applyWrites(work: Work, list: readonly Write[]): void {
  for (const each of list) writes[each.op](work, each as never)
}

const insertSessionRow = statement((db, slots: NewSessionRow) =>
  db
    .insertInto('session')
    .values(
      columnsOf(slots, [
        ...(['row', 'namespace', 'key', 'id', 'agent', 'owner', 'metadata', 'parent', 'created_at'] as const),
        ...(['tenant', 'section', 'status', 'active_at'] as const),
      ]),
    ),
)

const updateMetadata = statement((db, slots: { readonly row: number; readonly metadata: string }) =>
  db.updateTable('session').set({ metadata: slots.metadata }).where('row', '=', slots.row),
)

function insertSession(work: Work, session: NewSession): void {
  const { namespace } = work.context
  const { tombstone } = placeOf(work.known, work.key)
  if (tombstone) write(work, deleteTombstone, { namespace, key: work.key })
  const numbers = tombstone ? { version: tombstone.version, nextSeq: tombstone.nextSeq, nextRun: tombstone.nextRun } : firstNumbers
  const record = newSession(work.key, session, numbers)
  const { key, id, agent, owner = null, parent = null, createdAt } = record
  const row = takeRow(work.known.newSessions)
  const fixed = { row, namespace, key, id, agent, owner, metadata: JSON.stringify(record.metadata), parent, created_at: createdAt }
  const newRow = { ...fixed, tenant: tenantOf(key) ?? null, ...listedColumns(record) }
  write(work, insertSessionRow, newRow)
  work.session = { row, newRow, before: undefined, record, nextEntry: 1, batchId: null, lastResult: null }
}

const insertEntryRow = statement((db, slots: EntryTable) =>
  db
    .insertInto('entry')
    .values(
      columnsOf(slots, [
        ...(['session', 'id', 'n', 'parent_id', 'type', 'at'] as const),
        ...(['run', 'run_id', 'call_run', 'call_step', 'call_id', 'body'] as const),
      ]),
    ),
)

/** Inserts an entry. The key of the table refuses an existing id. */
function insertEntry(work: Work, entry: NewEntry): void {
  const session = sessionOf(work)
  const { id, parentId, type, at, runId } = entry
  refuseUnless(parentId === null || hasEntry(work, parentId), 'conflict')
  const body = 'call' in entry ? null : recordText(work.context, storedContent(entry), `The entry ${id}`)
  const call = callColumns(work, 'call' in entry ? entry.call : undefined)
  const run = runId === undefined ? undefined : findRun(work, runId)
  const node = {
    session: session.row,
    id,
    n: session.nextEntry,
    parent_id: parentId,
    type,
    at,
    run: run?.row ?? null,
    run_id: run ? null : (runId ?? null),
  }
  write(work, insertEntryRow, { ...node, ...call, body })
  work.entriesPut.add(id)
  session.nextEntry += 1
  session.record = { ...session.record, leaf: id }
}

function callColumns(work: Work, call: CallKey | undefined): Pick<EntryTable, 'call_run' | 'call_step' | 'call_id'> {
  if (!call) return { call_run: null, call_step: null, call_id: null }
  work.references.push({ call })
  const run = requireRun(work, call.runId)
  return { call_run: run.row, call_step: call.step, call_id: call.toolCallId }
}

const insertEventRow = statement((db, slots: EventTable) =>
  db.insertInto('event').values(columnsOf(slots, ['session', 'seq', 'run', 'body'])),
)

function insertEvents(work: Work, events: readonly NewEvent[]): void {
  const session = sessionOf(work)
  for (const { refers } of events) if (refers) work.references.push(refers)
  const nextSeq = session.record.nextSeq + events.length
  const run = work.runs.get(runNamedIn(events) ?? '')
  const body = JSON.stringify(packEvents(events, run ? ['runId'] : []))
  // Together, events may exceed the limit of one record.
  if (!fits(work.context, body)) for (const { event } of events) recordText(work.context, event, `An event of type ${event.type}`)
  write(work, insertEventRow, { session: session.row, seq: nextSeq - 1, run: run?.row ?? null, body })
  session.record = { ...session.record, nextSeq }
}

function hasInboxRow({ inboxRows, known }: Work, session: number, id: string): boolean {
  return inboxRows.get(id) ?? known.inbox.has(nameIn(session, id))
}

const insertInbox = statement((db, slots: InboxTable) =>
  db.insertInto('inbox').values(columnsOf(slots, ['session', 'id', 'kind', 'at', 'version', 'place', 'body'])),
)

const deleteInbox = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.deleteFrom('inbox').where('session', '=', slots.session).where('id', '=', slots.id),
)

const updateInbox = statement((db, slots: Pick<InboxTable, 'session' | 'id' | 'kind' | 'body'>) =>
  db.updateTable('inbox').set({ kind: slots.kind, body: slots.body }).where('session', '=', slots.session).where('id', '=', slots.id),
)

/** Inserts a definition unless it exists. Locks it against removal until the commit. */
const insertDefinition = statement((db, slots: DefinitionTable, { keepDefinition }) =>
  db
    .insertInto('definition')
    .columns(['namespace', 'hash', 'body'])
    .expression((from) =>
      from
        .selectFrom(keepDefinition(slots.hash).as('kept'))
        .select([textValue(slots.namespace).as('namespace'), textValue(slots.hash).as('hash'), textValue(slots.body).as('body')])
        // Without a condition, SQLite parses the conflict clause as part of a join.
        .where(sql<boolean>`1 = 1`),
    )
    .onConflict((conflict) => conflict.columns(['namespace', 'hash']).doNothing()),
)

const timerColumns = ['kind', 'due_at', 'body'] as const

const putTimer = statement((db, slots: TimerTable) =>
  db
    .insertInto('timer')
    .values(columnsOf(slots, ['namespace', 'session', 'key', 'id', ...timerColumns]))
    .onConflict((conflict) => conflict.columns(['session', 'id']).doUpdateSet(columnsOf(slots, timerColumns))),
)

const deleteTimer = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.deleteFrom('timer').where('session', '=', slots.session).where('id', '=', slots.id),
)
