import type { CallKey, NewEvent } from '../../contract/batch.ts'
import type { EventPage } from '../../contract/session-store.ts'
import { parseStored } from '../../json.ts'
import { wholeEvent } from '../../core/rules.ts'
import type { FilledIn } from '../../core/rules.ts'
import { contentFrom, selectEntries } from './entries.ts'
import { unpackEvents, type PackedEvents } from '../../core/packed-events.ts'
import { askPlaces, onlyPlace, sessionRecord } from './sessions.ts'
import type { Place, StoreView } from './sessions.ts'
import { all, ask, statement, together } from './statement.ts'
import type { Steps } from './statement.ts'
import { atMost } from './values.ts'

/** Limit of rows per read. A row holds all events of a commit, so a page seldom needs more. */
const rowsAtOnce = 200

interface RowsSlots {
  readonly namespace: string
  readonly key: string
  readonly after: number
  readonly limit: number
}

const rowsAfter = statement((db, slots: RowsSlots) =>
  db
    .selectFrom('session')
    .innerJoin('event', 'event.session', 'session.row')
    .leftJoin('run', 'run.row', 'event.run')
    .select(['event.seq', 'event.body', 'run.id as run_id'])
    .where('session.namespace', '=', slots.namespace)
    .where('session.key', '=', slots.key)
    .where('event.seq', '>', slots.after)
    .orderBy('event.seq')
    .limit(atMost(slots.limit)),
)

const messagesOf = statement((db, slots: { readonly session: number; readonly ids: readonly string[] }, { isOneOf }) =>
  selectEntries(db)
    .select('entry.id')
    .where('entry.session', '=', slots.session)
    .where((where) => isOneOf(where.ref('entry.id'), slots.ids, 'text')),
)

interface OutcomesSlots {
  readonly namespace: string
  readonly runs: readonly string[]
  readonly from: number
  readonly to: number
}

/** Selects a range of steps: consecutive events belong to consecutive steps. */
const outcomesOf = statement((db, slots: OutcomesSlots, { isOneOf }) =>
  db
    .selectFrom('run')
    .innerJoin('tool_call', 'tool_call.run', 'run.row')
    .select(['run.id as runId', 'tool_call.step', 'tool_call.tool_call_id as toolCallId', 'tool_call.outcome as body'])
    .where('run.namespace', '=', slots.namespace)
    .where((where) => isOneOf(where.ref('run.id'), slots.runs, 'text'))
    .where('tool_call.step', '>=', slots.from)
    .where('tool_call.step', '<=', slots.to),
)

const inputsOf = statement((db, slots: { readonly namespace: string; readonly ids: readonly string[] }, { isOneOf }) =>
  db
    .selectFrom('run')
    .innerJoin('run_input', 'run_input.run', 'run.row')
    .select(['run.id', 'run_input.body'])
    .where('run.namespace', '=', slots.namespace)
    .where((where) => isOneOf(where.ref('run.id'), slots.ids, 'text')),
)

/** Reads one snapshot: later commits belong to the next page. */
export function* readEvents(view: StoreView, key: string, after: number, limit: number): Steps<EventPage> {
  const { namespace } = view
  let most = Math.min(Math.max(0, limit), rowsAtOnce)
  const { places, rows: firstRows } = yield* together({
    places: askPlaces(view, [key]),
    rows: ask(rowsAfter, { namespace, key, after, limit: most }),
  })
  const { session, tombstone } = onlyPlace(places)
  if (!session) return noEvents(tombstone)
  const { firstSeq, nextSeq } = sessionRecord(session)
  const found: Numbered[] = []
  // A row may also hold events from before the first kept one.
  const take = (rows: readonly EventRow[]) => {
    for (const row of rows) found.push(...numbered(row, key).filter(({ seq }) => seq > after && seq >= firstSeq))
  }
  take(firstRows)
  for (let rows = firstRows; rows.length === most && found.length < limit; take(rows)) {
    most = Math.min(limit - found.length, rowsAtOnce)
    rows = yield* all(rowsAfter, { namespace, key, after: rows.at(-1)?.seq ?? after, limit: most })
  }
  const page = found.slice(0, limit)
  const referred = yield* readReferred(namespace, session.row, page)
  const events = page.map(({ seq, event, refers }) => {
    const where = `The event ${seq} of the session ${key}`
    return wholeEvent(event, seq, filledIn(referred, refers, where))
  })
  return { events, firstSeq, lastSeq: nextSeq - 1, sessionId: session.id }
}

function noEvents(tombstone: Place['tombstone']): EventPage {
  if (!tombstone) return { events: [], firstSeq: 1, lastSeq: 0 }
  const { nextSeq, deletedAt } = tombstone
  return { events: [], firstSeq: nextSeq, lastSeq: nextSeq - 1, deletedAt }
}

type Numbered = NewEvent & { readonly seq: number }

interface EventRow {
  readonly seq: number
  readonly body: string
  readonly run_id: string | null
}

function numbered({ seq, body, run_id: runId }: EventRow, key: string): readonly Numbered[] {
  const events = unpackEvents(parseStored<PackedEvents>(body, `The event ${seq} of the session ${key}`), runId === null ? {} : { runId })
  return events.map((event, index) => ({ ...event, seq: seq - events.length + 1 + index }))
}

/** Texts that references resolve to. */
interface Referred {
  readonly messages: ReadonlyMap<string, string | null>
  readonly outcomes: ReadonlyMap<string, string | null>
  readonly inputs: ReadonlyMap<string, string>
}

function* readReferred(namespace: string, session: number, events: readonly NewEvent[]): Steps<Referred> {
  const entries: string[] = []
  const calls: CallKey[] = []
  const runs: string[] = []
  for (const { refers } of events) {
    if (!refers) continue
    if ('entryId' in refers) entries.push(refers.entryId)
    else if ('call' in refers) calls.push(refers.call)
    else runs.push(refers.runInput)
  }
  const { messages, outcomes, inputs } = yield* together({
    messages: entries.length > 0 ? ask(messagesOf, { session, ids: entries }) : undefined,
    outcomes: calls.length > 0 ? ask(outcomesOf, { namespace, ...rangeOf(calls) }) : undefined,
    inputs: runs.length > 0 ? ask(inputsOf, { namespace, ids: runs }) : undefined,
  })
  return {
    messages: new Map(messages.map(({ id, body }) => [id, body])),
    outcomes: new Map(outcomes.map((row) => [callName(row), row.body])),
    inputs: new Map(inputs.map(({ id, body }) => [id, body])),
  }
}

function rangeOf(calls: readonly CallKey[]): Omit<OutcomesSlots, 'namespace'> {
  const steps = calls.map(({ step }) => step)
  const runs = [...new Set(calls.map(({ runId }) => runId))]
  return { runs, from: steps.reduce((a, b) => Math.min(a, b)), to: steps.reduce((a, b) => Math.max(a, b)) }
}

function callName({ runId, step, toolCallId }: CallKey): string {
  return JSON.stringify([runId, step, toolCallId])
}

function filledIn({ messages, outcomes, inputs }: Referred, refers: NewEvent['refers'], where: string): FilledIn {
  if (!refers) return {}
  if ('runInput' in refers) return { input: parseStored(inputs.get(refers.runInput) ?? '', where) }
  if ('call' in refers) return { message: parseStored(outcomes.get(callName(refers.call)) ?? '', where) }
  const { entryId: id } = refers
  return { message: contentFrom({ id, type: 'message', body: messages.get(id) ?? null }, where) }
}
