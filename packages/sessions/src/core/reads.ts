import { branchesOf, pageOfBranches } from './branches.ts'
import { readOfSession, wholeEvent, type FilledIn } from './rules.ts'
import { compareIds, pageLimit, pageOf, parsePosition, printPosition, type Page, type PageRequest } from '../contract/paging.ts'
import type { CallKey, NewEvent } from '../contract/batch.ts'
import type { EntryRecord, InboxKind, InboxRecord, RunRecord, SessionRecord, TimerRecord, ToolCallRecord } from '../contract/records.ts'
import type {
  BranchRecord,
  ChildQuery,
  EventPage,
  Found,
  PathOptions,
  Read as ReadOf,
  RunQuery,
  TimerQuery,
} from '../contract/session-store.ts'
import { SessionError } from '../errors.ts'
import type { Id, Read, Row, Scan } from '../rows/contract.ts'
import {
  callRecord,
  eventsIn,
  headOf,
  inboxRecord,
  runRecord,
  storedEntry,
  timerRecord,
  usualStatus,
  type StoredEntry,
  type Tombstone,
} from './records.ts'
import type { Steps } from './transact.ts'

function found<T>(value: T | undefined): Found<T> {
  return value === undefined ? { status: 'missing' } : { status: 'found', value }
}

export function* readSession(key: string): Steps<ReadOf<SessionRecord>> {
  const { now, rows } = yield placeOf(key)
  const [[session] = [], [tombstone] = []] = rows
  if (session) return readOfSession(headOf(session).record, now)
  return tombstone ? { status: 'deleted', at: (tombstone.body as unknown as Tombstone).deletedAt } : { status: 'missing' }
}

function placeOf(key: string): readonly Read[] {
  return [
    { get: 'session', ids: [[key]] },
    { get: 'tombstone', ids: [[key]] },
  ]
}

export function* readPath(key: string, { leaf, before, limit }: PathOptions): Steps<Page<EntryRecord>> {
  const { rows } = yield [
    { get: 'session', ids: [[key]] },
    { get: 'entry', ids: [[key, before ?? '']] },
  ]
  const [[session] = [], [behind] = []] = rows
  if (!session) return { items: [] }
  if (before !== undefined && !behind) throw unknownEntry(key, before)
  const start = behind ? storedEntry(behind).parentId : leaf === undefined ? headOf(session).record.leaf : leaf
  if (start === null) return { items: [] }
  const most = pageLimit(limit)
  const path = (yield [{ walk: 'entry', from: [key, start], by: 'parentId', limit: most + 1 }]).rows.flat().map(storedEntry)
  if (path.length === 0) throw unknownEntry(key, start)
  const outcomes = yield* readOutcomes(path.flatMap((entry) => ('call' in entry ? entry.call : [])))
  const items = path.map((entry) => wholeEntry(entry, outcomes))
  return pageOf(items, most, (last) => last.id)
}

function unknownEntry(key: string, id: string): SessionError {
  return new SessionError('unknown-entry', `The session ${key} has no entry ${id}. Take the id from messages()`)
}

function wholeEntry(entry: StoredEntry, outcomes: ReadonlyMap<string, unknown>): EntryRecord {
  if (!('call' in entry)) return entry
  const { call, ...node } = entry
  return { ...node, message: outcomes.get(nameOf(idOf(call))) } as unknown as EntryRecord
}

function idOf({ runId, step, toolCallId }: CallKey): Id {
  return [runId, step, toolCallId]
}

function nameOf(id: Id): string {
  return JSON.stringify(id)
}

function* readOutcomes(calls: readonly CallKey[]): Steps<ReadonlyMap<string, unknown>> {
  if (calls.length === 0) return new Map()
  const { rows } = yield [{ get: 'call', ids: calls.map(idOf) }]
  return new Map(
    rows
      .flat()
      .map(callRecord)
      .map((call) => [nameOf(idOf(call)), call.outcome]),
  )
}

/** Limit of rows per read. A row holds all events of a commit, so a page seldom needs more. */
const rowsAtOnce = 200

export function* readEvents(key: string, after: number, limit: number): Steps<EventPage> {
  const scan = (from: number, most: number): Read => ({ scan: 'event', index: 'seq', equal: [key], after: [from], limit: most })
  const most = Math.min(Math.max(0, limit), rowsAtOnce)
  const { rows } = yield [...placeOf(key), scan(after, most)]
  const [[session] = [], [tombstone] = [], firstRows = []] = rows
  if (!session) return noEvents(tombstone?.body as unknown as Tombstone | undefined)
  const { firstSeq, nextSeq, id: sessionId } = headOf(session).record
  const events: (NewEvent & { readonly seq: number })[] = []
  for (let page = firstRows; ;) {
    // A row may also hold events from before the first kept one.
    for (const row of page) events.push(...eventsIn(row).filter(({ seq }) => seq > after && seq >= firstSeq && seq < nextSeq))
    if (page.length < most || events.length >= limit) break
    page = (yield [scan((page.at(-1)?.['seq'] ?? after) as number, most)]).rows[0] ?? []
  }
  const filled = yield* fillIn(key, events.slice(0, limit))
  return { events: filled.map(({ event, seq, more }) => wholeEvent(event, seq, more)), firstSeq, lastSeq: nextSeq - 1, sessionId }
}

function noEvents(tombstone: Tombstone | undefined): EventPage {
  if (!tombstone) return { events: [], firstSeq: 1, lastSeq: 0 }
  const { nextSeq, deletedAt } = tombstone
  return { events: [], firstSeq: nextSeq, lastSeq: nextSeq - 1, deletedAt }
}

type Numbered = NewEvent & { readonly seq: number }

/** Reads the records that events refer to. */
function* fillIn(key: string, events: readonly Numbered[]): Steps<readonly (Numbered & { readonly more: FilledIn })[]> {
  const refers = events.flatMap((event) => event.refers ?? [])
  if (refers.length === 0) return events.map((event) => ({ ...event, more: {} }))
  const { rows } = yield [
    { get: 'entry', ids: refers.flatMap((each) => ('entryId' in each ? [[key, each.entryId]] : [])) },
    { get: 'call', ids: refers.flatMap((each) => ('call' in each ? [idOf(each.call)] : [])) },
    { get: 'input', ids: refers.flatMap((each) => ('runInput' in each ? [[each.runInput]] : [])) },
  ]
  const [entries = [], calls = [], inputs = []] = rows
  const stored = entries.map(storedEntry)
  const ofEntries = yield* readOutcomes(stored.flatMap((entry) => ('call' in entry ? entry.call : [])))
  const messages = new Map(stored.map((entry) => [entry.id, Reflect.get(wholeEntry(entry, ofEntries), 'message') as unknown]))
  const outcomes = new Map<string, unknown>(calls.map(callRecord).map((call) => [nameOf(idOf(call)), call.outcome]))
  const ofRuns = new Map<string, unknown>(inputs.map((row) => [row['run'] as string, row.body]))
  return events.map((event) => {
    const { refers: to } = event
    if (!to) return { ...event, more: {} }
    if ('runInput' in to) return { ...event, more: { input: ofRuns.get(to.runInput) } }
    return { ...event, more: { message: 'call' in to ? outcomes.get(nameOf(idOf(to.call))) : messages.get(to.entryId) } }
  })
}

/** Completes runs with their inputs and leases. */
function* wholeRuns(runs: readonly Row[]): Steps<readonly RunRecord[]> {
  if (runs.length === 0) return []
  const ids = runs.map((row) => [row['id'] as string])
  const running = runs.flatMap((row) => (row['status'] === 'running' ? [[row['id'] as string]] : []))
  const { rows } = yield [
    { get: 'input', ids },
    { get: 'lease', ids: running },
  ]
  const [inputs, leases] = rows.map((list) => new Map(list.map((row) => [row['run'], row])))
  return runs.map((row) => runRecord(row, inputs?.get(row['id'] as string), leases?.get(row['id'] as string)))
}

export function* readRun(runId: string): Steps<Found<RunRecord>> {
  const ids = [[runId]]
  const { rows } = yield [
    { get: 'run', ids },
    { get: 'input', ids },
    { get: 'lease', ids },
  ]
  const [[run] = [], [input] = [], [lease] = []] = rows
  return found(run && runRecord(run, input, lease))
}

export function* readCalls(runId: string, step?: number): Steps<readonly ToolCallRecord[]> {
  const equal = step === undefined ? [runId] : [runId, step]
  const { rows } = yield [{ scan: 'call', index: 'step', equal, limit: Infinity }]
  return rows
    .flat()
    .map(callRecord)
    .sort((a, b) => a.step - b.step || a.index - b.index)
}

export function* readCall(key: string, toolCallId: string): Steps<Found<ToolCallRecord>> {
  const { rows } = yield [{ scan: 'call', index: 'id', equal: [key, toolCallId], reverse: true, limit: 1 }]
  return found(rows.flat().map(callRecord)[0])
}

export function* readApproval(approvalId: string): Steps<Found<ToolCallRecord>> {
  const { rows } = yield [{ scan: 'call', index: 'approval', equal: [approvalId], limit: 1 }]
  return found(rows.flat().map(callRecord)[0])
}

export function* readInbox(key: string, kinds: readonly InboxKind[]): Steps<readonly InboxRecord[]> {
  const [session] = (yield [{ get: 'session', ids: [[key]] }]).rows.flat()
  if (!session || !kinds.some((kind) => (headOf(session).inbox[kind] ?? 0) > 0)) return []
  const { rows } = yield [{ scan: 'inbox', index: 'n', equal: [key], where: [{ column: 'kind', in: kinds }], limit: Infinity }]
  return rows.flat().map(inboxRecord)
}

export function* listRuns(key: string, { status, newestFirst = false, limit, page }: RunQuery): Steps<Page<RunRecord>> {
  const most = pageLimit(limit)
  const after = parsePosition(page, 'number')
  const order = { ...(after && { after }), reverse: newestFirst, limit: most + 1 }
  const scans: readonly Scan[] =
    status === undefined || status.includes(usualStatus)
      ? [{ scan: 'run', index: 'n', equal: [key], ...order, ...(status && { where: [{ column: 'status', in: status }] }) }]
      : [...new Set(status)].map((word) => ({ scan: 'run', index: 'status', equal: [key, word], ...order }))
  const { rows } = yield scans
  const inOrder = rows.flat().sort((a, b) => (newestFirst ? -1 : 1) * ((a['n'] as number) - (b['n'] as number)))
  const runs = yield* wholeRuns(inOrder.slice(0, most + 1))
  return pageOf(runs, most, ({ n }) => printPosition(n))
}

export function* listChildren({ parent, status, limit, page }: ChildQuery): Steps<Page<RunRecord>> {
  const most = pageLimit(limit)
  const after = parsePosition(page, 'number', 'text')
  const [index, value] = 'runId' in parent ? ['parentRun', parent.runId] : ['parentSession', parent.session]
  const { rows } = yield [
    {
      scan: 'run',
      index,
      equal: [value],
      limit: most + 1,
      ...(after && { after }),
      ...(status && { where: [{ column: 'status', in: status }] }),
    },
  ]
  return pageOf(yield* wholeRuns(rows.flat()), most, ({ createdAt, id }) => printPosition(createdAt, id))
}

export function* listBranches(key: string, { page, limit }: PageRequest): Steps<Page<BranchRecord>> {
  const { rows } = yield [{ scan: 'entry', index: 'id', equal: [key], limit: Infinity }]
  const entries = rows.flat().map(storedEntry)
  return pageOfBranches(branchesOf(entries.sort((a, b) => a.n - b.n)), { page, limit })
}

export function* listTimers({ kind, key, limit, page }: TimerQuery): Steps<Page<TimerRecord>> {
  const most = pageLimit(limit)
  const [session, ...id] = parsePosition(page, 'text', 'text') ?? []
  const equal = key === undefined ? [kind] : [kind, key]
  // Only this session is wanted, and a page before may have ended at its timers or after them.
  if (session !== undefined && key !== undefined && compareIds(session, key) > 0) return { items: [] }
  const isInside = session !== undefined && (key === undefined || session === key)
  const position = isInside ? { after: key === undefined ? [session, ...id] : id } : {}
  const { rows } = yield [{ scan: 'timer', index: 'list', equal, ...position, limit: most + 1 }]
  return pageOf(rows.flat().map(timerRecord), most, (last) => printPosition(last.session, last.id))
}

export function* readDefinition(hash: string): Steps<Row['body'] | undefined> {
  return (yield [{ get: 'definition', ids: [[hash]] }]).rows.flat()[0]?.body
}
