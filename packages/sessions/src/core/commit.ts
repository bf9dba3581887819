import type { Batch, CommitResult, Delivery, Expect, NewEvent, Write as BatchWrite } from '../contract/batch.ts'
import { noticeOfExpiry, noticesOfEvents, noticesOfRun } from '../contract/draft-notices.ts'
import type { InboxKind, InboxSteering, InboxTaken, RunKind, ToolCallRecord } from '../contract/records.ts'
import { isHolding, isOpen } from '../contract/run-status.ts'
import type { Answer, Change, Id, Read, Row, Write } from '../rows/contract.ts'
import { namedInputs } from './named-inputs.ts'
import { Refused, refuseUnless } from './refused.ts'
import { expireSession, firstNumbers, hasExpired, hintsOf, newRun, newSession, patchRun, patchSession } from './rules.ts'
import { callRecord, headOf, inboxRecord, storedRun, type LastBatch, type StoredRun, type Tombstone } from './records.ts'
import type { Decision, Steps } from './transact.ts'
import { callName, Work, type Facts } from './work.ts'

type Part = Pick<Batch, 'key' | 'expect' | 'writes' | 'notify'>

/**
 * Decides a batch with its deliveries. `tries`: earlier attempts. The first one takes for granted that the ids of new entries are new:
 * the store refuses them if not.
 */
export function* commitBatch(batch: Batch, tries: number): Steps<Decision<CommitResult>> {
  const deliveries = (batch.deliver ?? []).map(partOf)
  const needs = new Needs([batch, ...deliveries])
  const answer = yield needs.reads
  const entries = needs.entriesToRead(answer, tries > 0)
  const facts = needs.factsIn(answer, entries.length > 0 ? (yield [{ get: 'entry', ids: entries }]).rows.flat() : [])
  const works = new Map<string, Work>()
  try {
    const work = new Work(batch.key, answer.now, facts(batch.key), batch.notify)
    const repeated = repeatOf(work, batch)
    // Its caller did not get an answer, so its hints may not have been told either.
    if (repeated) return { result: repeated, change: { writes: [], hints: hintsOf(batch) } }
    const existing = existingInput(work, batch)
    if (existing) return { result: existing }
    checkExpectations(work, batch.expect)
    const events = apply(work, batch.writes)
    works.set(batch.key, work)
    for (const part of deliveries) {
      const delivered = deliver(works.get(part.key), part, () => new Work(part.key, answer.now, facts(part.key), part.notify))
      if (delivered) works.set(part.key, delivered)
    }
    const { id: sessionId, version, nextSeq } = work.after
    const result = { ok: true, sessionId, version, firstSeq: nextSeq - events, lastSeq: nextSeq - 1 } as const
    const named = runsNamedBy(batch)
    const last = { id: batch.id, version, firstSeq: result.firstSeq, lastSeq: result.lastSeq }
    const writes = [...works].flatMap(([key, each]) => (key === batch.key ? each.finish(last, named) : each.finish()))
    const hasNotices = [...works.values()].some(({ noticesPut }) => noticesPut > 0)
    return {
      result: hasNotices ? { ...result, notices: true } : result,
      change: { writes: conditionsFirst(writes), hints: hintsOf(batch), ...replacedDeltas(batch, works) },
    }
  } catch (error) {
    if (error instanceof Refused) return { result: { ok: false, reason: error.reason } }
    throw error
  }
}

/** A commit of a run replaces its live deltas. */
function replacedDeltas({ key, expect }: Batch, works: ReadonlyMap<string, Work>): Pick<Change, 'replacesDeltas'> {
  const isFenced = expect.some(({ that }) => that === 'fence')
  const keys = [...works].flatMap(([each, { isGone }]) => (isGone || (isFenced && each === key) ? [each] : []))
  return keys.length > 0 ? { replacesDeltas: keys } : {}
}

function partOf({ to, when = [], writes, notify }: Delivery): Part {
  return { key: to, expect: when, writes, ...(notify && { notify }) }
}

/** A store finds out early that a decision is out of date. */
function conditionsFirst(writes: readonly Write[]): readonly Write[] {
  const isCondition = (write: Write): boolean => 'if' in write
  return [...writes.filter(isCondition), ...writes.filter((write) => !isCondition(write))]
}

/** Applies a delivery to its session, if that exists and meets the conditions. */
function deliver(before: Work | undefined, part: Part, begin: () => Work): Work | undefined {
  const work = before?.copy(part.notify) ?? begin()
  try {
    checkExpectations(work, part.expect)
    if (existingInput(work, part)) return undefined
    apply(work, part.writes)
    return work
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** Returns the earlier result of this batch if it was the last one of its session or of a run that it names. */
function repeatOf(work: Work, batch: Batch): CommitResult | undefined {
  const named = [...runsNamedBy(batch)].map((id) => work.run(id)?.last)
  const last = [work.head?.last, ...named].find((each): each is LastBatch => each?.id === batch.id)
  if (!last) return undefined
  const { version, firstSeq, lastSeq } = last
  return { ok: true, sessionId: work.record.id, version, firstSeq, lastSeq }
}

/** Returns the result for an input whose id was accepted before. */
function existingInput({ head, facts }: Work, part: Pick<Part, 'writes'>): CommitResult | undefined {
  if (!head) return undefined
  for (const { inputId, rowId, hash } of namedInputs(part)) {
    const row = rowId === undefined ? undefined : facts.inbox.get(rowId)?.record
    const existing = facts.inputs.get(inputId) ?? (row?.body as InboxSteering | InboxTaken | undefined)
    if (!existing) continue
    refuseUnless(existing.hash === hash, 'id-reused')
    const { id, version, nextSeq } = head.record
    return { ok: true, sessionId: id, version, firstSeq: nextSeq, lastSeq: nextSeq - 1, existing: { runId: existing.runId } }
  }
  return undefined
}

function runsNamedBy({ expect, writes }: Pick<Batch, 'expect' | 'writes'>): ReadonlySet<string> {
  return new Set([
    ...expect.flatMap((each) => (each.that === 'fence' ? [each.runId] : [])),
    ...writes.flatMap((write) => (write.op === 'run.insert' ? [write.run.id] : [])),
  ])
}

/** Applies all writes. Returns the number of events. */
function apply(work: Work, list: readonly BatchWrite[]): number {
  for (const each of list) writes[each.op](work, each as never)
  for (const refers of work.references) refuseUnless(isThere(work, refers), 'conflict')
  for (const [id, run] of work.runs) {
    refuseUnless(run === work.facts.runs.get(id) || isOpen(run.state.status) || run.openCalls === 0, 'open-calls')
  }
  work.commit()
  return list.reduce((count, write) => count + (write.op === 'event.append' ? write.events.length : 0), 0)
}

function isThere(work: Work, refers: NonNullable<NewEvent['refers']>): boolean {
  if ('entryId' in refers) return work.entries.has(refers.entryId)
  if ('runInput' in refers) return work.run(refers.runInput) !== undefined
  return work.run(refers.call.runId) !== undefined && work.call(refers.call)?.state === 'settled'
}

type Expectations = { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => void }

const expectations: Expectations = {
  session(work, { id, version, alive }) {
    if (id === null) return refuseUnless(!work.head, 'conflict')
    const { record } = work
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
    refuseUnless(!alive || !hasExpired(record, work.now), 'expired')
  },
  fence(work, { runId, epoch }) {
    const run = work.run(runId)?.state
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },
  idle(work, { exceptCompaction }) {
    refuseUnless(openRuns(work, exceptCompaction ? 'compaction' : undefined) === 0, 'busy')
  },
  'none-queued'(work, { except }) {
    refuseUnless(otherRuns(work, except) === 0, 'runs-queued')
  },
  'some-queued'(work, { except }) {
    refuseUnless(otherRuns(work, except) > 0, 'nothing-queued')
  },
  'queue-below'(work, { max }) {
    refuseUnless((work.head?.queuedRuns ?? 0) < max, 'queue-full')
  },
  run(work, { runId, status, notStopping }) {
    const run = work.run(runId)?.state
    refuseUnless(run !== undefined && status.includes(run.status), 'conflict')
    refuseUnless(!notStopping || !run?.stop, 'stopping')
  },
  leaf(work, { entryId }) {
    refuseUnless(work.record.leaf === entryId, 'conflict')
  },
  'inbox-empty'(work, { kinds }) {
    refuseUnless(inboxRows(work, kinds) === 0, 'inputs-waiting')
  },
  'inbox-below'(work, { kind, max }) {
    refuseUnless(inboxRows(work, [kind]) < max, 'queue-full')
  },
  timer({ facts }, { id, dueAt }) {
    const found = facts.timers.get(id)
    refuseUnless(found !== undefined && (dueAt === undefined || dueAt === found), 'conflict')
  },
}

function openRuns({ head }: Work, except?: RunKind): number {
  return Object.entries(head?.openRuns ?? {}).reduce((sum, [kind, count]) => sum + (kind === except ? 0 : count), 0)
}

function otherRuns(work: Work, runId: string): number {
  const run = work.run(runId)?.state
  return openRuns(work) - (run && isOpen(run.status) ? 1 : 0)
}

function inboxRows({ head }: Work, kinds: readonly InboxKind[]): number {
  return kinds.reduce((sum, kind) => sum + (head?.inbox[kind] ?? 0), 0)
}

function checkExpectations(work: Work, expected: readonly Expect[]): void {
  for (const expect of expected) expectations[expect.that](work, expect as never)
}

type Writes = { readonly [T in BatchWrite['op']]: (work: Work, write: Extract<BatchWrite, { op: T }>) => void }

const writes: Writes = {
  'session.ensure'(work, { session }) {
    if (!work.head) work.create(newSession(work.key, session, work.facts.tombstone ?? firstNumbers))
  },
  'session.patch'(work, { patch }) {
    const { record } = work
    if (typeof patch.leaf === 'string') refuseUnless(work.entries.has(patch.leaf), 'conflict')
    work.setRecord(patchSession(record, patch))
  },
  'session.expire'(work) {
    const { expiredAt } = work.record
    work.setRecord(expireSession(work.record, work.now))
    if (expiredAt === undefined) work.putNotices((session) => [noticeOfExpiry(session)])
  },
  'session.delete'(work, { at, leavesNothing }) {
    const { version, nextSeq, nextRun } = work.record
    const { key } = work
    const all = (scan: string, index: string): Write => ({ dropAll: { scan, index, equal: [key], limit: Infinity } })
    // One number is consumed by the event that ends readers.
    const body = { version: version + 1, nextSeq: nextSeq + 1, nextRun, deletedAt: at }
    work.delete()
    work.writes.push(
      ...[all('run', 'n'), all('input', 'session'), all('lease', 'session'), all('call', 'id'), all('entry', 'id'), all('event', 'seq')],
      ...[all('inbox', 'n'), all('timer', 'session'), all('notice', 'session')],
      ...(leavesNothing ? [] : [{ put: 'tombstone', row: { key, body } } as const]),
    )
  },
  'entry.append'(work, { entries }) {
    for (const entry of entries) {
      refuseUnless(entry.parentId === null || work.entries.has(entry.parentId), 'conflict')
      refuseUnless(!work.entries.has(entry.id), 'conflict')
      if ('call' in entry) {
        work.requireRun(entry.call.runId)
        work.references.push({ call: entry.call })
      }
      work.appendEntry(entry)
    }
  },
  'event.append'(work, { events }) {
    work.appendEvents(events)
    work.putNotices((session) => noticesOfEvents(session, events))
  },
  'run.insert'(work, { run }) {
    refuseUnless(!work.runs.has(run.id), 'conflict')
    if (run.inputId !== undefined) {
      refuseUnless(!work.facts.inputs.has(run.inputId) && !work.inputs.has(run.inputId), 'id-reused')
      work.inputs.add(run.inputId)
    }
    const { input, ...state } = newRun(work.record, run)
    work.insertRun(state, input)
  },
  'run.patch'(work, { runId, patch }) {
    const run = work.requireRun(runId)
    const next = patchRun(run.state, patch, work.now)
    if (isHolding(next.status) && !isHolding(run.state.status)) {
      const first = work.firstRun()
      refuseUnless(!first || !isHolding(first.status), 'busy')
    }
    work.changeRun(run, next)
    work.putNotices((session) => noticesOfRun(session, run.state, next))
  },
  'call.put'(work, { calls }) {
    for (const call of calls) {
      refuseUnless(work.run(call.runId) !== undefined && work.call(call)?.state !== 'settled', 'conflict')
      work.putCall(call)
    }
  },
  'inbox.put'(work, { rows }) {
    for (const row of rows) {
      refuseUnless(!work.inbox.get(row.id), 'inbox')
      work.putInbox(row)
    }
  },
  'inbox.take'(work, { ids }) {
    for (const id of ids) work.takeInbox(id)
  },
  'inbox.patch'(work, { rows }) {
    for (const row of rows) work.changeInbox(row)
  },
  'definition.put'(work, { hash, body }) {
    const { facts, session } = work
    const usedAt = facts.definitions.get(hash)
    if (session && usedAt === undefined) return void work.writes.push({ put: 'definition', row: { hash, usedAt: work.now, body } })
    // It is not deleted by a process that has marked it as unused, and is stored again if one has just deleted it.
    const set = usedAt !== undefined && usedAt < 0 ? { usedAt: Math.max(work.now, 1 - usedAt) } : {}
    work.writes.push({ update: 'definition', id: [hash], set, if: usedAt === undefined ? {} : { usedAt } })
  },
  'timer.put'(work, { timers }) {
    for (const { id, kind, dueAt, body } of timers)
      if (work.session) work.writes.push({ put: 'timer', row: { session: work.key, id, kind, dueAt, body } })
  },
  'timer.drop'(work, { ids }) {
    for (const id of ids) if (work.session) work.writes.push({ drop: 'timer', id: [work.key, id] })
  },
}

/** Tables of the rows that are read by their ids with the session, in the order of the answers. */
const readTables = ['session', 'tombstone', 'run', 'inbox', 'timer', 'call', 'definition'] as const

/** Rows that must be read before a batch can be decided. */
class Needs {
  /** By the text of table and id. */
  readonly #ids = new Map<string, readonly [table: string, id: Id]>()
  readonly #inputs = new Map<string, Id>()
  /** Texts of the ids of entries that are appended. */
  readonly #appended = new Set<string>()
  /** By key: how many runs at the head of the queue may change. */
  readonly #heads = new Map<string, number>()

  constructor(parts: readonly Part[]) {
    for (const part of parts) this.#add(part)
  }

  #need(table: (typeof readTables)[number] | 'entry', ...id: Id): void {
    this.#ids.set(JSON.stringify([table, id]), [table, id])
  }

  #idsIn(wanted: string): readonly Id[] {
    return [...this.#ids.values()].flatMap(([table, id]) => (table === wanted ? [id] : []))
  }

  #add({ key, expect, writes }: Part): void {
    this.#need('session', key)
    this.#need('tombstone', key)
    for (const each of expect) {
      if (each.that === 'fence' || each.that === 'run') this.#need('run', each.runId)
      else if (each.that === 'none-queued' || each.that === 'some-queued') this.#need('run', each.except)
      else if (each.that === 'timer') this.#need('timer', key, each.id)
    }
    for (const { inputId, rowId } of namedInputs({ writes })) {
      this.#inputs.set(JSON.stringify([key, inputId]), [key, inputId])
      if (rowId !== undefined) this.#need('inbox', key, rowId)
    }
    const fenced = new Set(expect.flatMap((each) => (each.that === 'fence' ? [each.runId] : [])))
    for (const write of writes) this.#addWrite(key, write, fenced)
  }

  /** `fenced`: runs that are running, or else the batch is refused. */
  #addWrite(key: string, write: BatchWrite, fenced: ReadonlySet<string>): void {
    const entry = (id: string | null | undefined): void => {
      if (typeof id === 'string') this.#need('entry', key, id)
    }
    const call = (each: Pick<ToolCallRecord, 'runId' | 'step' | 'toolCallId'>): void => {
      this.#need('run', each.runId)
      this.#need('call', each.runId, each.step, each.toolCallId)
    }
    const inbox = (id: string): void => this.#need('inbox', key, id)
    const head = (): void => void this.#heads.set(key, (this.#heads.get(key) ?? 0) + 1)
    switch (write.op) {
      case 'session.patch':
        return entry(write.patch.leaf)
      case 'entry.append':
        for (const each of write.entries) {
          entry(each.id)
          this.#appended.add(JSON.stringify([key, each.id]))
          entry(each.parentId)
          if ('call' in each) call(each.call)
        }
        return
      case 'event.append':
        for (const { refers } of write.events) {
          if (!refers) continue
          if ('entryId' in refers) entry(refers.entryId)
          else if ('call' in refers) call(refers.call)
          else this.#need('run', refers.runInput)
        }
        return
      case 'run.insert':
        this.#need('run', write.run.id)
        return head()
      case 'run.patch':
        this.#need('run', write.runId)
        // A run that is running and stays so is the first one.
        return fenced.has(write.runId) && write.patch.status === undefined ? undefined : head()
      case 'call.put':
        return write.calls.forEach(call)
      case 'inbox.put':
      case 'inbox.patch':
        return write.rows.forEach(({ id }) => inbox(id))
      case 'inbox.take':
        return write.ids.forEach(inbox)
      case 'definition.put':
        return this.#need('definition', write.hash)
      default:
        return
    }
  }

  get reads(): readonly Read[] {
    return [
      ...readTables.map((table) => ({ get: table, ids: this.#idsIn(table) })),
      ...[...this.#inputs.values()].map((equal) => ({ scan: 'run', index: 'input', equal, limit: 1 })),
      ...[...this.#heads].map(([key, count]) => ({ scan: 'run', index: 'place', equal: [key], limit: count + 1 })),
    ]
  }

  /** Returns the ids of entries that may exist, beside the leaf of each session. `alsoNew`: also of those that are appended. */
  entriesToRead({ rows: [sessions = []] }: Answer, alsoNew: boolean): readonly Id[] {
    const leaves = sessions.map((row) => JSON.stringify([row['key'], headOf(row).record.leaf]))
    const known = new Set([...leaves, ...(alsoNew ? [] : this.#appended)])
    return this.#idsIn('entry').filter((id) => !known.has(JSON.stringify(id)))
  }

  factsIn({ rows }: Answer, entries: readonly Row[]): (key: string) => Facts {
    const [sessions = [], tombstones = [], runs = [], inbox = [], timers = [], calls = [], definitions = [], ...others] = rows
    const inputs = others.slice(0, this.#inputs.size).flat()
    const ofQueue = others.slice(this.#inputs.size).flat()
    const state = new Map<string, StoredRun>([...runs, ...ofQueue].map((row) => [row['id'] as string, storedRun(row)]))
    return (key) => {
      const session = sessions.find((row) => row['key'] === key)
      const ours = <T extends { readonly [column: string]: unknown }>(list: readonly T[]): readonly T[] =>
        list.filter((row) => row['session'] === key)
      const head = session && headOf(session)
      const leaf = head?.record.leaf ?? null
      return {
        head,
        tombstone: tombstones.find((row) => row['key'] === key)?.body as unknown as Tombstone | undefined,
        runs: state,
        inputs: new Map(
          ours(inputs).map((row) => [row['inputId'] as string, { runId: row['id'] as string, hash: storedRun(row).state.inputHash }]),
        ),
        inbox: new Map(ours(inbox).map((row) => [row['id'] as string, { n: row['n'] as number, record: inboxRecord(row) }])),
        entries: new Set([...ours(entries).map((row) => row['id'] as string), ...(leaf === null ? [] : [leaf])]),
        timers: new Map(ours(timers).map((row) => [row['id'] as string, row['dueAt'] as number | null])),
        calls: new Map(ours(calls).map((row) => [callName(callRecord(row)), callRecord(row)])),
        definitions: new Map(definitions.map((row) => [row['hash'] as string, row['usedAt'] as number])),
      }
    }
  }
}
