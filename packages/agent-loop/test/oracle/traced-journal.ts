import type { CommitExpectation, Journal, JournalRecord, MemoryJournal } from '../../src/index.ts'
import type { OracleWorld } from './oracle-world.ts'
import { show } from './trace.ts'

/** Returns a journal whose commits, deltas and children are noted. */
export function tracedJournal(world: OracleWorld, journal: MemoryJournal, path: string): MemoryJournal {
  return {
    ...notedJournal(world, journal, path, (_records, _expect, store) => store()),
    snapshot: () => journal.snapshot(),
  }
}

type Store = () => ReturnType<Journal['commit']>
/** Decides what becomes of a commit. */
export type OnCommit = (records: readonly JournalRecord[], expect: CommitExpectation | undefined, store: Store) => ReturnType<Journal['commit']>

/** Returns the part of a journal that all journals have, noted. */
export function notedJournal(world: OracleWorld, journal: Journal, path: string, onCommit: OnCommit): Journal {
  const { trace } = world
  return {
    load: () => journal.load(),
    async commit(records, expect) {
      trace.add('calls', `${path} commit\t${show(records)}\t${show(expect)}`)
      for (const record of records) noteRecord(world, record)
      if (expect) trace.reached(`expects ${Object.entries(expect).join()}`)
      const outcome = await onCommit(records, expect, () => journal.commit(records, expect))
      trace.add('calls', `${path} committed\t${show(outcome)}`)
      if (!outcome.ok) trace.reached(`answer ${outcome.reason}`)
      world.moment()
      return outcome
    },
    publish(deltas) {
      for (const delta of deltas) {
        trace.reached(`delta ${delta.type}`)
        trace.add(`${path} deltas`, show(delta))
      }
      journal.publish?.(deltas)
    },
    child: (key, meta) => notedJournal(world, journal.child?.(key, meta) as Journal, `${path}/${key}`, onCommit),
    findAnswered: (id) => journal.findAnswered?.(id) ?? Promise.resolve(undefined),
  }
}

/** Fields of events by which what was reached is told apart. */
const tellingFields = ['status', 'reason', 'cause', 'trigger', 'outcome', 'purpose', 'placement', 'decision', 'executed', 'success', 'resumed', 'source', 'effect', 'receipt', 'terminate', 'editedInput', 'by']

function noteRecord({ trace, script }: OracleWorld, record: JournalRecord): void {
  trace.reached(`record ${record.type}`)
  if (record.type === 'call') trace.reached(`call is ${record.call.state}`)
  if (record.type === 'run') noteRun(trace, record.run)
  if (record.type !== 'event') return
  const { event } = record
  trace.reached(`event ${event.type}`)
  const fields = event as unknown as Readonly<Record<string, unknown>>
  for (const field of tellingFields) if (fields[field] !== undefined && (field !== 'reason' || event.type !== 'compaction-end')) trace.reached(`event ${event.type} ${field} ${typeof fields[field] === 'string' || typeof fields[field] === 'boolean' ? fields[field] : 'given'}`)
  if (event.type === 'tool-execution-end') noteOutcome(trace, event.message)
  if (event.type === 'message-end') trace.reached(event.message.paused ? 'message paused' : `answer ${event.message.stopReason}`)
  if (event.type === 'retry-start' && event.error.retryAfterMs !== undefined) trace.reached('error retry-after')
  if (event.type === 'turn-end' && event.reason === 'guardrail' && !script.scenario.agent.guardrail) trace.reached('loop guard halts')
  const { agent } = fields
  if (Array.isArray(agent) && agent.length > 0) trace.reached(`event of a subagent ${event.type}`)
  if ((event.type === 'awaiting-tools' || event.type === 'approval-requested') && isNested(fields)) trace.reached(`nested ${event.type}`)
}

function noteOutcome(trace: OracleWorld['trace'], { status, output }: { readonly status: string; readonly output: object }): void {
  trace.reached(`result ${status}`)
  const said = JSON.stringify(output)
  if (said.includes('Warning: ') && said.includes(' times')) trace.reached('loop guard warns')
  if (status === 'denied' && said.includes('this very input')) trace.reached('loop guard blocks')
  if (said.includes('levels deep')) trace.reached('limit maxDepth')
}

function noteRun(trace: OracleWorld['trace'], run: Extract<JournalRecord, { type: 'run' }>['run']): void {
  const { compactionDue, extensionState, notBefore, overflowUsed, followed, cost } = run
  for (const [name, value] of Object.entries({ compactionDue, extensionState, notBefore, overflowUsed, followed, cost })) if (value !== undefined) trace.reached(`run has ${name}`)
}

function isNested({ path, pendingToolCalls }: Readonly<Record<string, unknown>>): boolean {
  const calls = Array.isArray(pendingToolCalls) ? (pendingToolCalls as { readonly path: readonly string[] }[]) : []
  return (Array.isArray(path) && path.length > 0) || calls.some((call) => call.path.length > 0)
}
