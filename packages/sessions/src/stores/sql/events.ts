import type { CallKey, NewEvent } from '../../contract/batch.ts'
import type { EventPage } from '../../contract/session-store.ts'
import { parseStored } from '../../json.ts'
import { wholeEvent } from '../rules.ts'
import type { FilledIn } from '../rules.ts'
import { contentFrom, selectEntries } from './entries.ts'
import { unpackEvents } from './packed-events.ts'
import { findSession, findTombstone, sessionRecord } from './sessions.ts'
import { all, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { TombstoneTable } from './tables.ts'

/** A row holds all events of a commit: seldom more than this many rows make a page. */
const rowsAtOnce = 200

interface RowsSlots {
  readonly session: number
  readonly after: number
  readonly before: number
  readonly limit: number
}

const rowsAfter = statement((db, slots: RowsSlots) =>
  db
    .selectFrom('event')
    .leftJoin('run', 'run.row', 'event.run')
    .select(['event.seq', 'event.body', 'run.id as run_id'])
    .where('event.session', '=', slots.session)
    .where('event.seq', '>', slots.after)
    .where('event.seq', '<', slots.before)
    .orderBy('event.seq')
    .limit(slots.limit),
)

const messagesOf = statement((db, slots: { readonly session: number; readonly ids: string }, { listed }) =>
  selectEntries(db)
    .select('entry.id')
    .where('entry.session', '=', slots.session)
    .where('entry.id', 'in', listed<string>(slots.ids)),
)

interface OutcomesSlots {
  readonly namespace: string
  readonly runs: string
  readonly from: number
  readonly to: number
}

/** Events that follow each other are of steps that follow each other. */
const outcomesOf = statement((db, slots: OutcomesSlots, { listed }) =>
  db
    .selectFrom('run')
    .innerJoin('tool_call', 'tool_call.run', 'run.row')
    .select(['run.id as runId', 'tool_call.step', 'tool_call.tool_call_id as toolCallId', 'tool_call.outcome as body'])
    .where('run.namespace', '=', slots.namespace)
    .where('run.id', 'in', listed<string>(slots.runs))
    .where('tool_call.step', '>=', slots.from)
    .where('tool_call.step', '<=', slots.to),
)

const inputsOf = statement((db, slots: { readonly namespace: string; readonly ids: string }, { listed }) =>
  db
    .selectFrom('run')
    .innerJoin('run_input', 'run_input.run', 'run.row')
    .select(['run.id', 'run_input.body'])
    .where('run.namespace', '=', slots.namespace)
    .where('run.id', 'in', listed<string>(slots.ids)),
)

export function* readEvents(namespace: string, key: string, after: number, limit: number): Steps<EventPage> {
  const session = yield* findSession(namespace, key)
  if (!session) return noEvents(yield* findTombstone(namespace, key))
  const { firstSeq, nextSeq } = sessionRecord(session)
  const found: Numbered[] = []
  // A row may hold events before the first one that is kept.
  const beyond = Math.max(after, firstSeq - 1)
  for (let from = beyond, more = true; more && found.length < limit; ) {
    const most = Math.min(limit - found.length, rowsAtOnce)
    // What was committed since the session was read belongs to the next page.
    const rows = yield* all(rowsAfter, { session: session.row, after: from, before: nextSeq, limit: most })
    for (const row of rows) {
      found.push(...numbered(row, key).filter(({ seq }) => seq > beyond))
      from = row.seq
    }
    more = rows.length === most
  }
  const wanted = found.slice(0, limit)
  const referred = yield* readReferred(namespace, session.row, wanted)
  const events = wanted.map(({ seq, event, refers }) => {
    const where = `The event ${seq} of the session ${key}`
    return wholeEvent(event, seq, filledIn(referred, refers, where))
  })
  return { events, firstSeq, lastSeq: nextSeq - 1, sessionId: session.id }
}

function noEvents(tombstone: TombstoneTable | undefined): EventPage {
  if (!tombstone) return { events: [], firstSeq: 1, lastSeq: 0 }
  const { next_seq: nextSeq, deleted_at: deletedAt } = tombstone
  return { events: [], firstSeq: nextSeq, lastSeq: nextSeq - 1, deletedAt }
}

type Numbered = NewEvent & { readonly seq: number }

interface EventRow {
  readonly seq: number
  readonly body: string
  readonly run_id: string | null
}

function numbered({ seq, body, run_id: runId }: EventRow, key: string): readonly Numbered[] {
  const events = unpackEvents(body, runId === null ? {} : { runId }, `The event ${seq} of the session ${key}`)
  return events.map((event, index) => ({ ...event, seq: seq - events.length + 1 + index }))
}

/** The texts that references stand for. */
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
  const messages = entries.length > 0 ? yield* all(messagesOf, { session, ids: JSON.stringify(entries) }) : []
  const outcomes = calls.length > 0 ? yield* all(outcomesOf, { namespace, ...rangeOf(calls) }) : []
  const inputs = runs.length > 0 ? yield* all(inputsOf, { namespace, ids: JSON.stringify(runs) }) : []
  return {
    messages: new Map(messages.map(({ id, body }) => [id, body])),
    outcomes: new Map(outcomes.map((row) => [callName(row), row.body])),
    inputs: new Map(inputs.map(({ id, body }) => [id, body])),
  }
}

function rangeOf(calls: readonly CallKey[]): Omit<OutcomesSlots, 'namespace'> {
  const steps = calls.map(({ step }) => step)
  const runs = JSON.stringify([...new Set(calls.map(({ runId }) => runId))])
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
