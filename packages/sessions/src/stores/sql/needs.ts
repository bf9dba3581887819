import type { CallKey, Expect, NewEvent, Write } from '../../contract/batch.ts'
import type { NoticeHook } from '../../contract/notices.ts'
import type { InboxKind } from '../../contract/records.ts'
import { namedInputs } from '../../core/named-inputs.ts'

/** The part of a batch that concerns one session: the batch itself or a delivery. */
export interface Part {
  readonly key: string
  readonly expect: readonly Expect[]
  readonly writes: readonly Write[]
  readonly notify?: readonly NoticeHook[] | undefined
}

/** Data that must be read before a commit can decide. */
export interface Needs {
  readonly keys: Set<string>
  readonly runs: Set<string>
  readonly inputs: Set<string>
  readonly inboxRows: Set<string>
  readonly entries: Set<string>
  readonly timers: Set<string>
  /** Runs and steps of calls. Consecutive steps are read as a range. */
  readonly callRuns: Set<string>
  readonly callSteps: Set<number>
  /** The number of open runs is needed. */
  countsRuns: boolean
  /** Kinds of inbox rows whose number is needed. */
  readonly inboxKinds: Set<InboxKind>
  /** By session: how many runs at the head of the queue this may change. One more is read. */
  readonly heads: Map<string, number>
  /** Rows that this may add. */
  readonly newSessions: number[]
  readonly newRuns: number[]
}

export function needsOf(parts: readonly Part[]): Needs {
  const needs: Needs = {
    keys: new Set(),
    runs: new Set(),
    inputs: new Set(),
    inboxRows: new Set(),
    entries: new Set(),
    timers: new Set(),
    callRuns: new Set(),
    callSteps: new Set(),
    countsRuns: false,
    inboxKinds: new Set(),
    heads: new Map(),
    newSessions: [],
    newRuns: [],
  }
  for (const part of parts) {
    needs.keys.add(part.key)
    for (const expect of part.expect) addExpectation(needs, expect)
    for (const write of part.writes) addWrite(needs, write, part.key)
    for (const { inputId, rowId } of namedInputs(part)) {
      needs.inputs.add(inputId)
      if (rowId !== undefined) needs.inboxRows.add(rowId)
    }
  }
  return needs
}

function addExpectation(needs: Needs, expect: Expect): void {
  switch (expect.that) {
    case 'session':
    case 'leaf':
      return
    case 'fence':
    case 'run':
      needs.runs.add(expect.runId)
      return
    case 'none-queued':
    case 'some-queued':
      needs.runs.add(expect.except)
      needs.countsRuns = true
      return
    case 'idle':
    case 'queue-below':
      needs.countsRuns = true
      return
    case 'inbox-empty':
      for (const kind of expect.kinds) needs.inboxKinds.add(kind)
      return
    case 'inbox-below':
      needs.inboxKinds.add(expect.kind)
      return
    case 'timer':
      needs.timers.add(expect.id)
      return
    default:
      expect satisfies never
  }
}

function addWrite(needs: Needs, write: Write, key: string): void {
  switch (write.op) {
    case 'session.ensure':
      needs.newSessions.push(needs.newSessions.length + 1)
      return
    case 'session.patch':
      if (typeof write.patch.leaf === 'string') needs.entries.add(write.patch.leaf)
      return
    case 'entry.append':
      for (const entry of write.entries) {
        if (entry.parentId !== null) needs.entries.add(entry.parentId)
        if (entry.runId !== undefined) needs.runs.add(entry.runId)
        if ('call' in entry) addCall(needs, entry.call)
      }
      return
    case 'event.append':
      for (const { refers } of write.events) addReference(needs, refers)
      return
    case 'run.insert':
      needs.runs.add(write.run.id)
      if (write.run.inputId !== undefined) needs.inputs.add(write.run.inputId)
      needs.newRuns.push(needs.newRuns.length + 1)
      addHead(needs, key)
      return
    case 'run.patch':
      needs.runs.add(write.runId)
      if (write.patch.status ?? write.patch.answered) addHead(needs, key)
      return
    case 'call.put':
      for (const call of write.calls) addCall(needs, call)
      return
    case 'inbox.put':
      for (const { id } of write.rows) needs.inboxRows.add(id)
      return
    case 'session.delete':
    case 'session.expire':
    case 'inbox.take':
    case 'inbox.patch':
    case 'definition.put':
    case 'timer.put':
    case 'timer.drop':
      return
    default:
      write satisfies never
  }
}

function addHead({ heads }: Needs, key: string): void {
  heads.set(key, (heads.get(key) ?? 0) + 1)
}

function addCall(needs: Needs, { runId, step }: CallKey): void {
  needs.runs.add(runId)
  needs.callRuns.add(runId)
  needs.callSteps.add(step)
}

function addReference(needs: Needs, refers: NewEvent['refers']): void {
  if (!refers) return
  if ('entryId' in refers) needs.entries.add(refers.entryId)
  else if ('call' in refers) addCall(needs, refers.call)
  else needs.runs.add(refers.runInput)
}
