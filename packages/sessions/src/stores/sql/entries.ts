import { sql } from 'kysely'
import { SessionError } from '../../errors.ts'
import type { NewEntry } from '../../contract/batch.ts'
import type { BranchRecord, PathOptions } from '../../contract/session-store.ts'
import type { Page, PageRequest } from '../../contract/paging.ts'
import type { EntryRecord } from '../../contract/records.ts'
import { branchesOf, pageOfBranches } from '../../core/branches.ts'
import { parseStored } from '../../json.ts'
import { pageLimit, pageOf } from '../../contract/paging.ts'
import { askPlaces, onlyPlace, sessionRecord } from './sessions.ts'
import type { StoreView } from './sessions.ts'
import { all, first, statement, together } from './statement.ts'
import type { Steps } from './statement.ts'
import type { Database } from './tables.ts'
import { atMost } from './values.ts'

const parentOf = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.selectFrom('entry').select('parent_id').where('session', '=', slots.session).where('id', '=', slots.id),
)

const nodeColumns = ['id', 'parent_id', 'n', 'type', 'at', 'run', 'run_id', 'call_run', 'call_step', 'call_id', 'body'] as const

/** Follows the parents from an entry to the root. Looks up each entry once; the order of the ids does not matter. */
const pathFrom = statement((db, { session, start, limit }: { readonly session: number; readonly start: string; readonly limit: number }) =>
  db
    .withRecursive('path', (path) =>
      path
        .selectFrom('entry')
        .select([...nodeColumns, sql<number>`1`.as('depth')])
        .where('session', '=', session)
        .where('id', '=', start)
        .unionAll(
          path
            .selectFrom('path')
            .innerJoin('entry', 'entry.id', 'path.parent_id')
            .select([...nodeColumns.map((name) => `entry.${name}` as const), sql<number>`path.depth + 1`.as('depth')])
            .where('entry.session', '=', session)
            .where('path.depth', '<', limit),
        ),
    )
    .selectFrom('path')
    .leftJoin('tool_call', (join) =>
      join
        .onRef('tool_call.run', '=', 'path.call_run')
        .onRef('tool_call.step', '=', 'path.call_step')
        .onRef('tool_call.tool_call_id', '=', 'path.call_id'),
    )
    .leftJoin('run', 'run.row', 'path.run')
    .select(['path.depth', 'path.id', 'path.n', 'path.parent_id', 'path.type', 'path.at'])
    .select((select) => select.fn.coalesce('run.id', 'path.run_id').as('run_id'))
    .select((select) => select.fn.coalesce('path.body', 'tool_call.outcome').as('body')),
)

/** Selects entries with their bodies. The body of a tool result is the outcome of its call. */
export function selectEntries(db: Database) {
  return db
    .selectFrom('entry')
    .leftJoin('tool_call', (join) =>
      join
        .onRef('tool_call.run', '=', 'entry.call_run')
        .onRef('tool_call.step', '=', 'entry.call_step')
        .onRef('tool_call.tool_call_id', '=', 'entry.call_id'),
    )
    .select((select) => select.fn.coalesce('entry.body', 'tool_call.outcome').as('body'))
}

/** Reads backwards by id from an entry. Ids that start with a time are mostly in the order of appending. */
const backFrom = statement((db, { session, start, limit }: { readonly session: number; readonly start: string; readonly limit: number }) =>
  selectEntries(db)
    .leftJoin('run', 'run.row', 'entry.run')
    .select(['entry.id', 'entry.n', 'entry.parent_id', 'entry.type', 'entry.at'])
    .select((select) => select.fn.coalesce('run.id', 'entry.run_id').as('run_id'))
    .where('entry.session', '=', session)
    .where('entry.id', '<=', start)
    .orderBy('entry.id', 'desc')
    .limit(atMost(limit)),
)

export function* readPath(view: StoreView, key: string, options: PathOptions): Steps<Page<EntryRecord>> {
  const { places } = yield* together({ places: askPlaces(view, [key]) })
  const { session } = onlyPlace(places)
  if (!session) return { items: [] }
  const limit = pageLimit(options.limit)
  const { leaf } = sessionRecord(session)
  const start = yield* startOfPath({ row: session.row, key, leaf }, options)
  if (start === null) return { items: [] }
  const path = yield* rowsOfPath(session.row, start, limit + 1)
  if (path.length === 0) throw unknownEntry(start, key)
  return pageOf(
    path.map((row) => entryRecord(row, key)),
    limit,
    (last) => last.id,
  )
}

/** Follows the parents within the entries that were read by id, then looks up the remaining ones. */
function* rowsOfPath(session: number, start: string, limit: number): Steps<readonly PathRow[]> {
  const path: PathRow[] = []
  let next: string | null = start
  for (const row of yield* all(backFrom, { session, start, limit })) {
    if (row.id !== next) continue
    path.push(row)
    next = row.parent_id
  }
  if (next === null || path.length === limit) return path
  const rest = yield* all(pathFrom, { session, start: next, limit: limit - path.length })
  return [...path, ...rest.toSorted((a, b) => a.depth - b.depth)]
}

function* startOfPath(
  session: { readonly row: number; readonly key: string; readonly leaf: string | null },
  { leaf, before }: PathOptions,
): Steps<string | null> {
  if (before === undefined) return leaf === undefined ? session.leaf : leaf
  const entry = yield* first(parentOf, { session: session.row, id: before })
  if (!entry) throw unknownEntry(before, session.key)
  return entry.parent_id
}

function unknownEntry(id: string, key: string): SessionError {
  return new SessionError('unknown-entry', `The session ${key} has no entry ${id}. Take the id from messages()`)
}

/** Field that holds the content of each type of entry, which is stored as its body. */
const contentOf = {
  message: 'message',
  compaction: 'compaction',
  'branch-summary': 'summary',
  note: 'text',
  custom: 'data',
  label: 'label',
} as const satisfies Readonly<Record<EntryRecord['type'], string>>

/** Returns the body of an entry. Leaves out the message id if it equals the id of the entry. */
export function storedContent(entry: NewEntry): unknown {
  const content: unknown = Reflect.get(entry, contentOf[entry.type])
  if (entry.type !== 'message' || !('message' in entry) || entry.message.id !== entry.id) return content
  const { id: _id, ...message } = entry.message
  return message
}

/** Restores the content from a body. `where` names the place in errors. */
export function contentFrom({ id, type, body }: Pick<PathRow, 'id' | 'type' | 'body'>, where: string): unknown {
  const content = parseStored<{ id?: string }>(body ?? '', where)
  if (type === 'message') content.id ??= id
  return content
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
  const record: Record<string, unknown> = { id, n, parentId: parent_id, at }
  if (run_id !== null) record.runId = run_id
  record.type = type
  record[contentOf[type]] = contentFrom({ id, type, body }, `The entry ${id} of the session ${key}`)
  return record as unknown as EntryRecord
}

const nodesOf = statement((db, slots: { readonly session: number }) =>
  db.selectFrom('entry').select(['id', 'parent_id as parentId', 'n', 'at']).where('session', '=', slots.session).orderBy('n'),
)

export function* listBranches(view: StoreView, key: string, { page, ...query }: PageRequest): Steps<Page<BranchRecord>> {
  const { places } = yield* together({ places: askPlaces(view, [key]) })
  const { session } = onlyPlace(places)
  return session ? pageOfBranches(branchesOf(yield* all(nodesOf, { session: session.row })), { page, limit: query.limit }) : { items: [] }
}
