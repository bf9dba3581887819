import type { IdSource, ToolResult } from '@bowline/agent-loop'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord, ToolCallRecord } from '../contract/records.ts'
import { entriesBack } from './read-transcript.ts'

const pageSize = 20

export interface SettledCall {
  readonly record: ToolCallRecord
  readonly outcome: ToolResult
  /** True if it was settled here, not before. */
  readonly fresh: boolean
  readonly started: boolean
  readonly inTranscript: boolean
}

/** Returns the calls of the open step of a run that is given up, each with an outcome. */
export async function settleOpenCalls(store: SessionStore, ids: IdSource, run: RunRecord, at: number): Promise<readonly SettledCall[]> {
  if (run.turn === undefined) return []
  const calls = await store.readCalls(run.id, run.step)
  if (calls.length === 0) return []
  const entries = await entriesAfterAnswer(store, run.session)
  return calls.map((record) => {
    const started = record.state === 'started'
    const { outcome } = record
    if (outcome) return { record, outcome, fresh: false, started, inTranscript: entries.has(outcome.id) }
    const given = givenUp(record, ids, at)
    const settled: ToolCallRecord = { ...record, state: 'settled', status: given.status, outcome: given }
    return { record: settled, outcome: given, fresh: true, started, inTranscript: false }
  })
}

/** Returns the ids of the entries after the newest answer: its results, if they are in the transcript, and later messages. */
async function entriesAfterAnswer(store: SessionStore, key: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for await (const entry of entriesBack(store, key, { limit: pageSize })) {
    if (entry.type === 'message' && entry.message.role === 'assistant') break
    ids.add(entry.id)
  }
  return ids
}

/** Returns the outcome of an abandoned call. A started call that is not pure may have happened. */
function givenUp(call: ToolCallRecord, ids: IdSource, at: number): ToolResult {
  const unknown = call.state === 'started' && call.effect !== 'pure'
  const value = unknown ? 'may or may not have happened: the run was given up' : 'not run: the run was given up'
  return {
    role: 'tool-result',
    id: ids.next('msg'),
    toolCallId: call.toolCallId,
    toolName: call.name,
    output: { type: 'error-text', value },
    at,
    status: unknown ? 'unknown' : 'cancelled',
    index: call.index,
  }
}
