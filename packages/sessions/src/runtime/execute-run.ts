import type { Accepted, Agent, AgentInput, ApprovalDecision, AgentResult, IdSource, SubmittedResult } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { storeJournal, type StoreJournal } from '../journal/store-journal.ts'
import type { LiveLog } from '../log/live-log.ts'
import { acceptFollowUp } from '../session/accept.ts'
import type { Claim, SessionStore } from '../store/contract.ts'
import type { InboxRecord } from '../store/records.ts'
import { ownAnswers, type LostRunEnd } from './recover.ts'
import type { RuntimeOptions } from './types.ts'

export interface ExecutionOptions extends Pick<RuntimeOptions, 'attempts' | 'onUnknownOutcome'> {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
  readonly agents: ReadonlyMap<string, Agent>
}

/** What is left to be written when an execution is over: the loop ends most runs itself. */
export type Remainder =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'rest' }
  | { readonly kind: 'give-back' }
  | ({ readonly kind: 'end' } & LostRunEnd)

/** Executes a claimed run as far as this process can bring it. */
export async function executeRun(options: ExecutionOptions, claim: Claim, abort: AbortController): Promise<Remainder> {
  const { store, live, clock, ids, agents, attempts, onUnknownOutcome } = options
  const { run, session } = claim
  const agent = agents.get(session.agent)
  if (run.rest) return { kind: 'rest' }
  if (run.stop && run.turn === undefined) return { kind: 'end', status: 'aborted', reason: 'abort' }
  if (!agent || run.attempts > (attempts?.withoutProgress ?? 5) || run.totalAttempts > (attempts?.total ?? 25)) {
    const message = `The run was lost ${run.totalAttempts} times, ${run.attempts} of them without progress.`
    return { kind: 'end', status: 'error', reason: 'crash-loop', error: { code: 'crash-loop', message } }
  }
  const answers = run.turn === undefined ? [] : await ownAnswers(store, session.key, run.id)
  const enqueue = (input: AgentInput): Promise<Accepted> => acceptFollowUp(options, session, input)
  const journal = storeJournal({ store, live, ids, claim, answers, abort, enqueue })
  const execution = agent.run(inputOf(claim, answers), {
    journal,
    runId: run.id,
    sessionKey: session.key,
    context: session.metadata,
    clock,
    ids,
    source: run.kind,
    ...(onUnknownOutcome ? { onUnknownOutcome } : {}),
  })
  return remainderOf(await execution.result(), journal)
}

/** The loop ends every turn itself, unless it could not write, may not write any more, or had nothing it could run. */
function remainderOf({ reason, error }: AgentResult, journal: StoreJournal): Remainder {
  if (journal.owesRest) return { kind: 'rest' }
  if (reason === 'yielded' || error?.code === 'fenced') return { kind: 'give-back' }
  if (reason !== 'journal-error' && reason !== 'refused') return { kind: 'nothing' }
  return { kind: 'end', status: 'error', reason, error: error ?? notWritten }
}

export const notWritten = { code: 'store-unavailable', message: 'The run could not be read or written.' } as const

/** A run that has not begun takes its input; one that was begun goes on, with the answers that came for it. */
function inputOf({ run }: Claim, answers: readonly InboxRecord[]): AgentInput | undefined {
  if (run.turn === undefined) return run.input as unknown as AgentInput
  if (answers.length === 0 || run.stop) return undefined
  return {
    toolResults: answers.flatMap((row) => (row.kind === 'answer' ? (row.body.answer as unknown as SubmittedResult) : [])),
    approvals: answers.flatMap((row): ApprovalDecision[] => (row.kind === 'decision' ? [row.body] : [])),
  }
}
