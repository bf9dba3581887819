import type { AbortCause, Agent, CommitOutcome, CompactionOutcome, IdSource, JournalRecord, RunRow } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { compactionOrder } from '../writer/due-compaction.ts'
import { StoreJournal, type StoreJournalOptions } from '../writer/store-journal.ts'
import type { LiveLog } from '../log/live-log.ts'
import { acceptFollowUp } from '../commands/accept.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import type { Conversations } from '../writer/conversations.ts'
import { notWritten, type Remainder, type RunSignals } from './remainder.ts'
import type { TenantBudgets } from './tenant-budgets.ts'

interface CompactionContext {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
  readonly conversations: Conversations
  readonly tenants?: TenantBudgets | undefined
}

/**
 * Executes a run of kind `compaction`. It is not a turn: the agent compacts the conversation as it is stored. The run holds its
 * session meanwhile, so that the leaf does not move, and writes under its epoch.
 */
export async function executeCompaction(
  context: CompactionContext,
  claim: Claim,
  agent: Agent,
  { abort, over }: Pick<RunSignals, 'abort' | 'over'>,
): Promise<Remainder> {
  const { store, live, clock, ids, conversations } = context
  const { run, session } = claim
  const journal = new CompactionJournal({
    store,
    live,
    ids,
    claim,
    answers: [],
    abort,
    durability: 'boundary',
    conversation: conversations.of(session.id),
    enqueue: (input) => acceptFollowUp(context, session, run, input),
  })
  const { trigger, instructions } = compactionOrder(run)
  const budget = await context.tenants?.budgetFor(session)
  const { outcome } = await agent.compact({
    journal,
    runId: run.id,
    sessionKey: session.key,
    trigger,
    ...(instructions === undefined ? {} : { instructions }),
    ...(budget && { budget }),
    clock,
    ids,
  })
  if (journal.needsFinalize) return { kind: 'finalize' }
  if (over.aborted) return { kind: 'lost' }
  if (isLeaving(abort.signal)) return { kind: causeOf(abort.signal)?.kind === 'fenced' ? 'lost' : 'give-back' }
  // The agent has no compaction, so nothing was started.
  if (outcome === 'skipped') return { kind: 'end', status: 'completed', reason: 'stop' }
  return { kind: 'end', status: 'error', reason: 'journal-error', error: notWritten }
}

/** Ends the run of a compaction in the commit that ends the compaction. */
class CompactionJournal extends StoreJournal {
  readonly #claim: Claim

  constructor(options: StoreJournalOptions) {
    super(options)
    this.#claim = options.claim
  }

  override commit(...given: Commit): Promise<CommitOutcome> {
    return super.commit(...closed(this.#claim, this.abortSignal, ...given))
  }
}

type Commit = Parameters<StoreJournal['commit']>

/**
 * Ends the run in the commit that ends the compaction, so that it is not repeated. A compaction that is interrupted stays open,
 * and nothing is settled.
 */
function closed(claim: Claim, signal: AbortSignal, records: Commit[0], expect: Commit[1]): Commit {
  const outcome = outcomeIn(records)
  if (outcome === undefined) return [records, expect]
  if (outcome === 'cancelled' && isLeaving(signal)) return [records.filter((record) => !isSettled(record)), {}]
  return [[...records, { type: 'run', run: rowOf(claim, outcome, signal.aborted) }], expect]
}

function outcomeIn(records: readonly JournalRecord[]): CompactionOutcome | undefined {
  const ends = records.flatMap((record) => (record.type === 'event' && record.event.type === 'compaction-end' ? record.event.outcome : []))
  return ends.at(-1)
}

function isSettled(record: JournalRecord): boolean {
  return record.type === 'event' && record.event.type === 'settled'
}

function rowOf({ run, session }: Claim, outcome: CompactionOutcome, stopped: boolean): RunRow {
  const row = { runId: run.id, state: 'ended', turn: session.turns, step: 0, usage: {}, attempt: 1, elapsedMs: 0, followed: true } as const
  if (outcome === 'failed') return { ...row, status: 'error', reason: 'model-error' }
  return stopped && outcome === 'cancelled'
    ? { ...row, status: 'aborted', reason: 'abort' }
    : { ...row, status: 'completed', reason: 'stop' }
}

/** Returns true if the compaction stays open for another claim. */
function isLeaving(signal: AbortSignal): boolean {
  const cause = causeOf(signal)
  return cause !== undefined && cause.kind !== 'stop'
}

function causeOf({ aborted, reason }: AbortSignal): AbortCause | undefined {
  return aborted ? (reason as AbortCause) : undefined
}
