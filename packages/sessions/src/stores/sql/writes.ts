import type { CallKey, NewEntry, NewEvent, NewSession, Write } from '../../contract/batch.ts'
import { refuseUnless } from '../refused.ts'
import { expireSession, newSession, patchSession } from '../rules.ts'
import { deleteSession, takeNumbers } from './delete-session.ts'
import { storedContent } from './entries.ts'
import { packEvents, runNamedIn } from './packed-events.ts'
import { columnsOf, execute, first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { DefinitionTable, EntryTable, EventTable, InboxTable, SessionTable, TimerTable } from './tables.ts'
import { findRun, fits, hasEntry, recordText, requireRun, sessionOf } from './work.ts'
import type { Work } from './work.ts'
import { putCall } from './write-calls.ts'
import { applyRunPatch, insertRun } from './write-runs.ts'

type Writes = { readonly [T in Write['op']]: (work: Work, write: Extract<Write, { op: T }>) => Steps<void> }

/** What each kind of write does. */
const writes: Writes = {
  *'session.ensure'(work, { session }) {
    if (!work.session) yield* insertSession(work, session)
  },

  *'session.patch'(work, { patch }) {
    const session = sessionOf(work)
    if (typeof patch.leaf === 'string') refuseUnless(yield* hasEntry(work, patch.leaf), 'conflict')
    if (patch.metadata) yield* execute(updateMetadata, { row: session.row, metadata: JSON.stringify(patch.metadata) })
    session.record = patchSession(session.record, patch)
  },

  // oxlint-disable-next-line require-yield -- the row of the session is written at the end
  *'session.expire'(work) {
    const session = sessionOf(work)
    session.record = expireSession(session.record, work.now)
  },

  'session.delete': (work, write) => deleteSession(work, write),

  *'entry.append'(work, { entries }) {
    sessionOf(work)
    for (const entry of entries) yield* insertEntry(work, entry)
  },

  *'event.append'(work, { events }) {
    sessionOf(work)
    if (events.length > 0) yield* insertEvents(work, events)
  },

  'run.insert': (work, { run }) => insertRun(work, run),
  'run.patch': (work, { runId, patch }) => applyRunPatch(work, runId, patch),

  *'call.put'(work, { calls }) {
    for (const call of calls) yield* putCall(work, call)
  },

  *'inbox.put'(work, { rows }) {
    const { row: session, record } = sessionOf(work)
    for (const { id, kind, at, body } of rows) {
      const text = recordText(work, body, `The inbox row ${id}`)
      const place = work.inboxPut++
      refuseUnless((yield* first(inboxRow, { session, id })) === undefined, 'inbox')
      yield* execute(insertInbox, { session, id, kind, at, body: text, version: record.version, place })
    }
  },

  *'inbox.take'(work, { ids }) {
    const { row: session } = sessionOf(work)
    for (const id of ids) yield* execute(deleteInbox, { session, id })
  },

  *'inbox.patch'(work, { rows }) {
    const { row: session } = sessionOf(work)
    for (const { id, kind, body } of rows) yield* execute(updateInbox, { session, id, kind, body: recordText(work, body, `The inbox row ${id}`) })
  },

  *'definition.put'(work, { hash, body }) {
    sessionOf(work)
    const { namespace } = work
    if ((yield* first(definitionRow, { namespace, hash })) !== undefined) return
    yield* execute(insertDefinition, { namespace, hash, body: recordText(work, body, 'A definition') })
  },

  *'timer.put'(work, { timers }) {
    const { row: session } = sessionOf(work)
    const { namespace } = work
    for (const { id, kind, dueAt, body } of timers) {
      yield* execute(deleteTimer, { session, id })
      yield* execute(insertTimer, { namespace, session, id, kind, due_at: dueAt, body: recordText(work, body, `The timer ${id}`) })
    }
  },

  *'timer.drop'(work, { ids }) {
    const { row: session } = sessionOf(work)
    for (const id of ids) yield* execute(deleteTimer, { session, id })
  },
}

export function* applyWrites(work: Work, list: readonly Write[]): Steps<void> {
  for (const write of list) yield* writes[write.op](work, write as never)
}

const insertSessionRow = statement((db, slots: Omit<SessionTable, 'row'>) =>
  db.insertInto('session').values(columnsOf(slots, ['namespace', 'key', 'id', 'agent', 'owner', 'metadata', 'parent', 'created_at'])).returning('row'),
)

const updateMetadata = statement((db, slots: { readonly row: number; readonly metadata: string }) =>
  db.updateTable('session').set({ metadata: slots.metadata }).where('row', '=', slots.row),
)

function* insertSession(work: Work, session: NewSession): Steps<void> {
  const { namespace } = work
  const record = newSession(work.key, session, yield* takeNumbers(work))
  const { key, id, agent, owner = null, parent = null, createdAt } = record
  const metadata = JSON.stringify(record.metadata)
  const inserted = yield* first(insertSessionRow, { namespace, key, id, agent, owner, metadata, parent, created_at: createdAt })
  if (!inserted) throw new TypeError('The database gave no number to a new session.')
  work.session = { row: inserted.row, isNew: true, record, nextEntry: 1, batchId: null, lastResult: null }
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

/** That the id is a new one is seen to by the key of the table. */
function* insertEntry(work: Work, entry: NewEntry): Steps<void> {
  const session = sessionOf(work)
  const { id, parentId, type, at, runId } = entry
  refuseUnless(parentId === null || (yield* hasEntry(work, parentId)), 'conflict')
  const body = 'call' in entry ? null : recordText(work, storedContent(entry), `The entry ${id}`)
  const call = yield* callColumns(work, 'call' in entry ? entry.call : undefined)
  const run = runId === undefined ? undefined : yield* findRun(work, runId)
  const node = { session: session.row, id, n: session.nextEntry, parent_id: parentId, type, at, run: run?.row ?? null, run_id: run ? null : (runId ?? null) }
  yield* execute(insertEntryRow, { ...node, ...call, body })
  work.entriesPut.add(id)
  session.nextEntry += 1
  session.record = { ...session.record, leaf: id }
}

function* callColumns(work: Work, call: CallKey | undefined): Steps<Pick<EntryTable, 'call_run' | 'call_step' | 'call_id'>> {
  if (!call) return { call_run: null, call_step: null, call_id: null }
  work.references.push({ call })
  const run = yield* requireRun(work, call.runId)
  return { call_run: run.row, call_step: call.step, call_id: call.toolCallId }
}

const insertEventRow = statement((db, slots: EventTable) => db.insertInto('event').values(columnsOf(slots, ['session', 'seq', 'run', 'body'])))

function* insertEvents(work: Work, events: readonly NewEvent[]): Steps<void> {
  const session = sessionOf(work)
  for (const { refers } of events) if (refers) work.references.push(refers)
  const nextSeq = session.record.nextSeq + events.length
  const run = work.runs.get(runNamedIn(events) ?? '')
  const body = packEvents(events, run ? ['runId'] : [])
  // Together they may be longer than one record.
  if (!fits(work, body)) for (const { event } of events) recordText(work, event, `An event of type ${event.type}`)
  yield* execute(insertEventRow, { session: session.row, seq: nextSeq - 1, run: run?.row ?? null, body })
  session.record = { ...session.record, nextSeq }
}

export const inboxRow = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.selectFrom('inbox').select(['id', 'body']).where('session', '=', slots.session).where('id', '=', slots.id),
)

const insertInbox = statement((db, slots: InboxTable) =>
  db.insertInto('inbox').values(columnsOf(slots, ['session', 'id', 'kind', 'at', 'version', 'place', 'body'])),
)

const deleteInbox = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.deleteFrom('inbox').where('session', '=', slots.session).where('id', '=', slots.id),
)

const updateInbox = statement((db, slots: Pick<InboxTable, 'session' | 'id' | 'kind' | 'body'>) =>
  db.updateTable('inbox').set({ kind: slots.kind, body: slots.body }).where('session', '=', slots.session).where('id', '=', slots.id),
)

const definitionRow = statement((db, slots: { readonly namespace: string; readonly hash: string }) =>
  db.selectFrom('definition').select('hash').where('namespace', '=', slots.namespace).where('hash', '=', slots.hash),
)

const insertDefinition = statement((db, slots: DefinitionTable) =>
  db.insertInto('definition').values(columnsOf(slots, ['namespace', 'hash', 'body'])),
)

const insertTimer = statement((db, slots: TimerTable) =>
  db.insertInto('timer').values(columnsOf(slots, ['namespace', 'session', 'id', 'kind', 'due_at', 'body'])),
)

const deleteTimer = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.deleteFrom('timer').where('session', '=', slots.session).where('id', '=', slots.id),
)
