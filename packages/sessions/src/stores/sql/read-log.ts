import { sql } from 'kysely'
import { SessionError } from '../../errors.ts'
import type { EventPage, Page, PartialEvent, PathOptions } from '../../store/contract.ts'
import type { EntryRecord } from '../../store/records.ts'
import { parseStored } from '../json.ts'
import { pageLimit, pageOf } from '../paging.ts'
import { wholeEvent } from '../rules.ts'
import { findSession } from './read.ts'
import type { Reader } from './read.ts'

export async function readEvents(reader: Reader, key: string, after: number, limit: number): Promise<EventPage> {
  const session = await findSession(reader, key)
  if (!session) return { events: [], firstSeq: 1, lastSeq: 0 }
  const rows = await reader.db
    .selectFrom('event')
    .leftJoin('entry', (join) =>
      join.onRef('entry.session', '=', 'event.session').onRef('entry.id', '=', 'event.entry_id'),
    )
    .leftJoin('tool_call', (join) =>
      join
        .on('tool_call.run', '=', (on) => on.fn.coalesce('event.call_run', 'entry.call_run'))
        .on('tool_call.step', '=', (on) => on.fn.coalesce('event.call_step', 'entry.call_step'))
        .on('tool_call.tool_call_id', '=', (on) => on.fn.coalesce('event.call_id', 'entry.call_id')),
    )
    .leftJoin('run_input', 'run_input.run', 'event.input_run')
    .select(['event.seq', 'event.body', 'run_input.body as input'])
    .select(({ fn }) => fn.coalesce('entry.body', 'tool_call.outcome').as('message'))
    .where('event.session', '=', session.row)
    .where('event.seq', '>', after)
    // What was committed since the session was read belongs to the next page.
    .where('event.seq', '<', session.next_seq)
    .orderBy('event.seq')
    .limit(limit)
    .execute()
  const events = rows.map(({ seq, body, message, input }) => {
    const where = `The event ${seq} of the session ${key}`
    const filledIn = {
      ...(message === null ? {} : { message: parseStored(message, where) }),
      ...(input === null ? {} : { input: parseStored(input, where) }),
    }
    return wholeEvent(parseStored<PartialEvent>(body, where), seq, filledIn)
  })
  return { events, firstSeq: session.first_seq, lastSeq: session.next_seq - 1 }
}

/** The path from an entry to the root, found by following the parents. */
export async function readPath(reader: Reader, key: string, options: PathOptions): Promise<Page<EntryRecord>> {
  const session = await findSession(reader, key)
  if (!session) return { items: [] }
  const limit = pageLimit(options.limit)
  const start = await startOfPath(reader, { row: session.row, key, leaf: session.leaf }, options)
  if (start === null) return { items: [] }
  const rows = await reader.db
    .withRecursive('path(id, parent_id, depth)', (db) =>
      db
        .selectFrom('entry')
        .select(['id', 'parent_id', sql<number>`1`.as('depth')])
        .where('session', '=', session.row)
        .where('id', '=', start)
        .unionAll(
          db
            .selectFrom('path')
            .innerJoin('entry', 'entry.id', 'path.parent_id')
            .select(['entry.id', 'entry.parent_id', sql<number>`path.depth + 1`.as('depth')])
            .where('entry.session', '=', session.row)
            .where('path.depth', '<=', limit),
        ),
    )
    .selectFrom('path')
    .innerJoin('entry', 'entry.id', 'path.id')
    .leftJoin('tool_call', (join) =>
      join
        .onRef('tool_call.run', '=', 'entry.call_run')
        .onRef('tool_call.step', '=', 'entry.call_step')
        .onRef('tool_call.tool_call_id', '=', 'entry.call_id'),
    )
    .select(['entry.id', 'entry.n', 'entry.parent_id', 'entry.type', 'entry.at', 'entry.run_id'])
    .select(({ fn }) => fn.coalesce('entry.body', 'tool_call.outcome').as('body'))
    .where('entry.session', '=', session.row)
    .orderBy('path.depth')
    .execute()
  if (rows.length === 0) throw unknownEntry(start, key)
  return pageOf(rows.map((row) => entryRecord(row, key)), limit, (last) => last.id)
}

async function startOfPath(
  { db }: Reader,
  session: { readonly row: number; readonly key: string; readonly leaf: string | null },
  { leaf, before }: PathOptions,
): Promise<string | null> {
  if (before === undefined) return leaf === undefined ? session.leaf : leaf
  const entry = await db
    .selectFrom('entry')
    .select('parent_id')
    .where('session', '=', session.row)
    .where('id', '=', before)
    .executeTakeFirst()
  if (!entry) throw unknownEntry(before, session.key)
  return entry.parent_id
}

function unknownEntry(id: string, key: string): SessionError {
  return new SessionError('unknown-entry', `There is no entry ${id} in the session ${key}`)
}

interface PathRow {
  readonly id: string
  readonly n: number
  readonly parent_id: string | null
  readonly type: EntryRecord['type']
  readonly at: number
  readonly run_id: string | null
  readonly body: string | null
}

function entryRecord({ id, n, parent_id, type, at, run_id, body }: PathRow, key: string): EntryRecord {
  const node = {
    id,
    n,
    parentId: parent_id,
    at,
    ...(run_id === null ? {} : { runId: run_id }),
  }
  const text = body ?? ''
  const where = `The entry ${id} of the session ${key}`
  return type === 'message' ? { ...node, type, message: parseStored(text, where) } : { ...node, type, compaction: parseStored(text, where) }
}
