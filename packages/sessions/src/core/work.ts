import type { NoticeDraft, NoticeHook, NoticeRecord } from '../contract/notices.ts'
import { noticeId, receiverOf } from '../contract/notices.ts'
import { hooksOf } from '../contract/draft-notices.ts'
import type { NewEvent } from '../contract/batch.ts'
import type { InboxKind, InboxRecord, SessionRecord, ToolCallRecord } from '../contract/records.ts'
import { firstInLine, isOpen, statusOfRun } from '../contract/run-status.ts'
import type { Row, Write } from '../rows/contract.ts'
import { Refused } from './refused.ts'
import { touchSession, withOutcome, withStatus, type RunState } from './rules.ts'
import {
  callRow,
  changedValues,
  entryRow,
  eventRow,
  eventsByRow,
  firstRun,
  inboxRow,
  leaseRow,
  newHead,
  noticeRow,
  runRow,
  sessionRow,
  type Head,
  type LastBatch,
  type StoredEntry,
  type StoredRun,
  type Tombstone,
} from './records.ts'

/** Rows that a decision has read, by id within their session. */
export interface Facts {
  readonly head: Head | undefined
  readonly tombstone: Tombstone | undefined
  /** Runs that are named, and the first ones of the queue. */
  readonly runs: ReadonlyMap<string, StoredRun>
  /** Run and hash of each named input that was accepted before. */
  readonly inputs: ReadonlyMap<string, { readonly runId: string; readonly hash: string }>
  readonly inbox: ReadonlyMap<string, { readonly n: number; readonly record: InboxRecord }>
  /** The leaf, and those that are named. */
  readonly entries: ReadonlySet<string>
  /** Due times. */
  readonly timers: ReadonlyMap<string, number | null>
  readonly calls: ReadonlyMap<string, ToolCallRecord>
  readonly definitions: ReadonlyMap<string, number>
}

/** Name of a call within its session. */
export function callName({ runId, step, toolCallId }: Pick<ToolCallRecord, 'runId' | 'step' | 'toolCallId'>): string {
  return JSON.stringify([runId, step, toolCallId])
}

/** One session while a decision changes it. Reads see the changes so far. */
export class Work {
  readonly key: string
  readonly now: number
  readonly notify: readonly NoticeHook[]
  readonly facts: Facts
  readonly writes: Write[] = []
  /** Runs with their changes. */
  readonly runs: Map<string, StoredRun>
  readonly calls: Map<string, ToolCallRecord>
  readonly entries: Set<string>
  readonly inbox: Map<string, { readonly n: number; readonly record: InboxRecord } | undefined>
  readonly references: NonNullable<NewEvent['refers']>[] = []
  readonly inputs = new Set<string>()
  head: Head | undefined
  isGone = false
  runsMoved = false
  noticesPut = 0

  constructor(key: string, now: number, facts: Facts, notify: readonly NoticeHook[] = []) {
    this.key = key
    this.now = now
    this.facts = facts
    this.notify = notify
    this.head = facts.head
    this.runs = new Map(facts.runs)
    this.calls = new Map(facts.calls)
    this.entries = new Set(facts.entries)
    this.inbox = new Map(facts.inbox)
  }

  /** Returns the same session for one more part of the decision. */
  copy(notify: readonly NoticeHook[] | undefined): Work {
    const copy = new Work(this.key, this.now, this.facts, notify)
    copy.writes.push(...this.writes)
    for (const [id, run] of this.runs) copy.runs.set(id, run)
    for (const [name, call] of this.calls) copy.calls.set(name, call)
    for (const id of this.entries) copy.entries.add(id)
    for (const [id, row] of this.inbox) copy.inbox.set(id, row)
    for (const id of this.inputs) copy.inputs.add(id)
    copy.head = this.head
    copy.isGone = this.isGone
    copy.noticesPut = this.noticesPut
    return copy
  }

  get session(): Head {
    if (!this.head || this.isGone) throw new Refused(this.isGone || this.facts.tombstone ? 'deleted' : 'missing')
    return this.head
  }

  get record(): SessionRecord {
    return this.session.record
  }

  /** The record after all changes, also if the session is deleted. */
  get after(): SessionRecord {
    if (!this.head) throw new Refused('missing')
    return this.head.record
  }

  /** Nothing can be written to the session after that. */
  delete(): void {
    this.isGone = true
    this.runsMoved = false
    this.references.length = 0
    this.runs.clear()
  }

  setRecord(record: SessionRecord): void {
    this.head = { ...this.session, record }
  }

  create(record: SessionRecord): void {
    this.head = newHead(record)
    if (this.facts.tombstone) this.writes.push({ drop: 'tombstone', id: [this.key] })
  }

  appendEntry(entry: Omit<StoredEntry, 'n'>): void {
    const { nextEntry: n, record } = this.session
    this.writes.push({ insert: 'entry', row: entryRow(this.key, { ...entry, n } as StoredEntry) })
    this.entries.add(entry.id)
    this.head = { ...this.session, nextEntry: n + 1, record: { ...record, leaf: entry.id } }
  }

  appendEvents(events: readonly NewEvent[]): void {
    for (const { refers } of events) if (refers) this.references.push(refers)
    let { nextSeq } = this.record
    for (const part of eventsByRow(events)) {
      nextSeq += part.length
      this.writes.push({ insert: 'event', row: eventRow(this.key, nextSeq - 1, part) })
    }
    this.setRecord({ ...this.record, nextSeq })
  }

  run(id: string): StoredRun | undefined {
    const run = this.runs.get(id)
    return run?.state.session === this.key ? run : undefined
  }

  requireRun(id: string): StoredRun {
    const run = this.run(id)
    if (!run) throw new Refused('conflict')
    return run
  }

  insertRun(state: RunState, input: unknown): void {
    this.writes.push({ insert: 'input', row: { run: state.id, session: this.key, body: input as Row['body'] } })
    this.#setRun({ state, openCalls: 0 }, undefined)
    const { record, oldestRun = state.n } = this.session
    this.head = { ...this.session, oldestRun, record: { ...record, nextRun: record.nextRun + 1 } }
  }

  changeRun(before: StoredRun, state: RunState): void {
    const run = { ...before, state }
    this.#setRun(run, before)
    this.setRecord(withOutcome(this.record, before.state, state))
    if (state.n === this.session.oldestRun && state.endedAt !== undefined) this.head = { ...this.session, oldestEnd: state.endedAt }
  }

  #setRun(run: StoredRun, before: StoredRun | undefined): void {
    const { state } = run
    this.runs.set(state.id, run)
    if (!before || statusOfRun(before.state) !== statusOfRun(state) || before.state.place !== state.place) this.runsMoved = true
    if (before?.state.notBefore !== state.notBefore || before?.state.status !== state.status) this.runsMoved = true
    const head = this.session
    const count = (each: RunState | undefined, by: number): void => {
      if (!each || !isOpen(each.status)) return
      const { kind, status } = each
      openRuns[kind] = (openRuns[kind] ?? 0) + by
      if (status === 'queued') queuedRuns += by
    }
    const openRuns = { ...head.openRuns }
    let { queuedRuns } = head
    count(before?.state, -1)
    count(state, 1)
    this.head = { ...head, openRuns, queuedRuns }
  }

  call(key: Pick<ToolCallRecord, 'runId' | 'step' | 'toolCallId'>): ToolCallRecord | undefined {
    return this.calls.get(callName(key))
  }

  putCall(call: ToolCallRecord): void {
    const run = this.requireRun(call.runId)
    const before = this.call(call)
    const openCalls = run.openCalls + (call.state === 'settled' ? 0 : 1) - (before && before.state !== 'settled' ? 1 : 0)
    this.runs.set(call.runId, { ...run, openCalls })
    this.calls.set(callName(call), call)
    const row = callRow(call, run.state.n)
    const id = [call.runId, call.step, call.toolCallId]
    this.writes.push(before ? { update: 'call', id, set: changedValues(callRow(before, run.state.n), row) } : { put: 'call', row })
  }

  putInbox(record: InboxRecord): void {
    const { nextInbox: n } = this.session
    this.head = { ...this.session, nextInbox: n + 1 }
    this.#setInbox(record.id, { n, record })
  }

  changeInbox(record: InboxRecord): void {
    const before = this.inbox.get(record.id)
    if (before) this.#setInbox(record.id, { n: before.n, record: { ...record, at: before.record.at } })
  }

  takeInbox(id: string): void {
    if (this.inbox.get(id)) this.#setInbox(id, undefined)
  }

  #setInbox(id: string, row: { readonly n: number; readonly record: InboxRecord } | undefined): void {
    const before = this.inbox.get(id)?.record.kind
    const after = row?.record.kind
    if (before !== after) this.head = { ...this.session, inbox: counted(this.session.inbox, before, after) }
    this.inbox.set(id, row)
    this.writes.push(row ? { put: 'inbox', row: inboxRow(this.key, row.n, row.record) } : { drop: 'inbox', id: [this.key, id] })
  }

  /** Adds the notices of a change, one for each subscribed hook. */
  putNotices(draftsOf: (session: SessionRecord) => readonly NoticeDraft[]): void {
    if (this.notify.length === 0 && !this.record.settings.notify) return
    const hooks = hooksOf(this.record, this.notify)
    for (const { type, body } of hooks.length > 0 ? draftsOf(this.record) : []) {
      for (const { name: hook } of hooks.filter(({ events }) => events.includes(type))) {
        const { record, pending } = this.session
        const n = (record.notices ?? 0) + 1
        const waiting = pending[hook] ?? 0
        const { now } = this
        const notice: NoticeRecord = {
          id: noticeId(record.id, n),
          session: this.key,
          n,
          hook,
          type,
          at: now,
          body,
          state: 'pending',
          attempts: 0,
          queuedAt: now,
          ...(waiting === 0 && { dueAt: now }),
        }
        this.writes.push({ insert: 'notice', row: noticeRow(notice, record.id, receiverOf(hook, record.settings.notify)) })
        this.head = { ...this.session, record: { ...record, notices: n }, pending: { ...pending, [hook]: waiting + 1 } }
        this.noticesPut += 1
      }
    }
  }

  /** Returns the open runs that are known. The first one is always among them. */
  firstRun(): RunState | undefined {
    return firstInLine([...this.runs.values()].flatMap(({ state }) => (isOpen(state.status) && state.session === this.key ? [state] : [])))
  }

  /** Completes the change of the session as a commit. */
  commit(): void {
    const { head } = this
    if (this.isGone && head) return void (this.head = { ...head, record: touchSession(head.record, this.facts.head?.record, this.now) })
    const { record } = this.session
    const first = this.runsMoved ? this.firstRun() : undefined
    const moved = this.runsMoved ? withStatus(record, first) : record
    this.setRecord(touchSession(moved, this.facts.head?.record, this.now))
    if (this.runsMoved) this.#setFirst(first)
  }

  #setFirst(run: RunState | undefined): void {
    const { first: _before, ...head } = this.session
    this.head = run ? { ...head, first: firstRun(run) } : head
  }

  /**
   * Returns the writes of the session, of its runs and of their leases. The session must not have changed since it was read. `last` is
   * kept with the named runs, or with the session if there is none.
   */
  finish(last?: LastBatch, named: ReadonlySet<string> = new Set()): readonly Write[] {
    const { key, facts, writes } = this
    const { head: before } = facts
    if (this.isGone) return [...(before ? [{ drop: 'session', id: [key], if: { revision: before.revision } } as const] : []), ...writes]
    const head = { ...this.session, revision: (before?.revision ?? 0) + 1, ...(last && named.size === 0 && { last }) }
    const runs = [...this.runs].flatMap(([id, run]) => {
      const is = last && named.has(id) ? { ...run, last } : run
      const was = facts.runs.get(id)
      return is === was ? [] : [...savedRun(was, is)]
    })
    return [before ? savedHead(before, head) : { insert: 'session', row: sessionRow(head) }, ...runs, ...writes]
  }
}

/** Changes the row of a session, if it has not changed since it was read. */
export function savedHead(before: Head, after: Head): Write {
  const set = changedValues(sessionRow(before), sessionRow(after))
  return { update: 'session', id: [before.record.key], set, if: { revision: before.revision } }
}

function counted<K extends InboxKind>(
  counts: Readonly<Partial<Record<InboxKind, number>>>,
  before: K | undefined,
  after: K | undefined,
): Readonly<Partial<Record<InboxKind, number>>> {
  const next = { ...counts }
  if (before !== undefined) next[before] = (next[before] ?? 0) - 1
  if (after !== undefined) next[after] = (next[after] ?? 0) + 1
  return next
}

/** Returns the writes of a run and of its lease. */
export function savedRun(before: StoredRun | undefined, after: StoredRun): readonly Write[] {
  const row = runRow(after)
  const saved: Write = before ? { update: 'run', id: [after.state.id], set: changedValues(runRow(before), row) } : { insert: 'run', row }
  return [saved, ...savedLease(before?.state, after.state)]
}

/** The lease of a run lives as long as the run is running. */
function savedLease(before: RunState | undefined, after: RunState): readonly Write[] {
  const wasHeld = before?.status === 'running'
  if (after.status !== 'running') return wasHeld ? [{ drop: 'lease', id: [after.id] }] : []
  if (!wasHeld || before.epoch !== after.epoch) return [{ put: 'lease', row: leaseRow(after) }]
  const { until: _until, ...set } = changedValues(leaseRow(before), leaseRow(after))
  return Object.keys(set).length > 0 ? [{ update: 'lease', id: [after.id], set }] : []
}
