import type { Delivery } from '../../contract/batch.ts'
import type { SessionRecord, ToolCallRecord } from '../../contract/records.ts'
import { callsTable, isNewestCall, newHeld, Table } from '../memory/held-session.ts'
import type { HeldSession } from '../memory/held-session.ts'
import type { Space, Tombstone } from '../memory/space.ts'
import { isOpen } from '../../contract/run-status.ts'
import { changeRow, newestFormat, rowOf, sessionTable } from './log-record.ts'
import type { Fields, LogRecord, Row } from './log-record.ts'

/** Content of a session file after all its lines are applied. */
export interface SessionContent {
  held: HeldSession | undefined
  tombstone: Tombstone | undefined
  /** Pending deliveries by id. */
  readonly outbox: Map<string, Delivery>
  /** Ids of deliveries that were applied to this session and may still be in the outbox of another one. */
  readonly received: Set<string>
}

export function emptyContent(): SessionContent {
  return { held: undefined, tombstone: undefined, outbox: new Map(), received: new Set() }
}

/** Returns false if the record cannot follow the ones before it: an earlier record is lost. */
export function applyRecord(content: SessionContent, record: LogRecord): boolean {
  for (const row of record.rows ?? []) if (!applyRow(content, row)) return false
  if (record.deleted !== undefined) {
    content.held = undefined
    content.tombstone = record.deleted ?? undefined
  }
  for (const delivery of record.outbox ?? []) content.outbox.set(delivery.id, delivery)
  for (const id of record.sent ?? []) content.outbox.delete(id)
  for (const id of record.received ?? []) content.received.add(id)
  return true
}

function applyRow(content: SessionContent, row: Row): boolean {
  const [table, key] = row
  const { held } = content
  if (table === sessionTable) {
    const record = changeRow(held?.record as Fields | undefined, row) as unknown as SessionRecord
    if (held) held.record = record
    else content.held = newHeld(record)
    content.tombstone = undefined
    return true
  }
  const rows = held && tableOf(held, table)
  if (!rows) return false
  const after = changeRow(rows.get(key), row)
  if (after) rows.set(key, after)
  else rows.delete(key)
  return true
}

const plainTables = ['entries', 'events', 'runs', 'inbox', 'timers', 'notices', 'applied'] as const
type AnyTable = Table<string | number, Fields>

function tableOf(held: HeldSession, name: string): AnyTable | undefined {
  const plain = plainTables.find((each) => each === name)
  if (plain) return held[plain] as unknown as AnyTable
  const runId = name.slice(callsTable('').length)
  if (name !== callsTable(runId)) return undefined
  const calls = held.calls.get(runId) ?? new Table<string, ToolCallRecord>(name)
  held.calls.set(runId, calls)
  return calls as unknown as AnyTable
}

function tablesOf(held: HeldSession): AnyTable[] {
  return [...plainTables.map((name) => held[name]), ...held.calls.values()] as unknown as AnyTable[]
}

/** Counts the rows that are needed to write the session. */
export function rowsIn({ held, tombstone, outbox, received }: SessionContent): number {
  const rows = held ? tablesOf(held).reduce((sum, table) => sum + table.size, 1) : 0
  return rows + (tombstone ? 1 : 0) + outbox.size + received.size
}

const rowsPerLine = 1000

/** Returns records that are equivalent to the whole history of the file; none if nothing is left. */
export function recordsOf(key: string, { held, tombstone, outbox, received }: SessionContent): LogRecord[] {
  const base = { format: newestFormat, key } as const
  const rows = held ? allRows(held) : []
  const lines: LogRecord[] = []
  for (let start = 0; start < rows.length; start += rowsPerLine) lines.push({ ...base, rows: rows.slice(start, start + rowsPerLine) })
  if (tombstone) lines.push({ ...base, deleted: tombstone })
  if (outbox.size > 0) lines.push({ ...base, outbox: [...outbox.values()] })
  if (received.size > 0) lines.push({ ...base, received: [...received] })
  return lines
}

function allRows(held: HeldSession): Row[] {
  const rows = tablesOf(held).flatMap((table) => [...table].map(([key, row]) => rowOf(table.name, key, undefined, row)))
  return [rowOf(sessionTable, '', undefined, held.record), ...rows].filter((row) => row !== undefined)
}

/** Adds the session to the space. */
export function addToSpace(space: Space, key: string, { held, tombstone }: SessionContent): void {
  if (tombstone) space.tombstones.set(key, tombstone)
  if (!held) return
  space.sessions.set(key, held)
  for (const run of held.runs.values()) {
    space.sessionOfRun.set(run.id, held)
    if (isOpen(run.status)) held.openRuns.set(run.id, run)
    if (run.inputId !== undefined) held.inputs.set(run.inputId, run.id)
    if (run.definition !== undefined) space.definitionUses.set(run.definition, (space.definitionUses.get(run.definition) ?? 0) + 1)
    space.children.add(run)
  }
  for (const notice of held.notices.values()) {
    if (notice.state === 'pending') held.pendingNotices.set(notice.id, notice)
    if (notice.dueAt !== undefined) held.dueNotices.set(notice.id, notice)
    space.notices.add(notice)
  }
  for (const calls of held.calls.values()) {
    for (const [id, call] of calls) {
      if (call.approval) space.approvals.set(call.approval.approvalId, { calls, id })
      if (isNewestCall(held, call)) held.newestCalls.set(call.toolCallId, call)
    }
  }
  space.index.update(key, held)
}
