import { canonicalJson, grantSchema, type BudgetGrant } from '@bowline/agent-loop'
import { validateWith, type JSONValue } from '@bowline/llm'
import { inputChecks } from '../arguments.ts'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import { decidedBefore, decisionId, isAllAnswered, openQuestions, readAnswers, type Decided } from '../contract/answers.ts'
import type { InboxDecision, InboxRecord, RunRecord, SessionRecord, ToolCallRecord } from '../contract/records.ts'
import { isTerminal } from '../contract/run-status.ts'
import { SessionError } from '../errors.ts'
import { checkedCopy } from '../json.ts'
import { checkDecisionOptions, checkGrantOptions } from './check-options.ts'
import type { SessionContext } from './context.ts'
import { readSession, storeAnswers, waitedForRelease } from './inbox.ts'
import { answeredAbove, isBelow, runAbove } from './route.ts'
import type { ApprovalReceipt, DecisionOptions, GrantOptions } from './types.ts'
import { readRun } from './rest-watch.ts'

export type GivenDecision = DecisionOptions &
  Pick<InboxDecision, 'approvalId' | 'decision'> & {
    /** Refuses an approval about anything else. */
    readonly about?: 'budget'
  }

/** Receipt of a stored decision. `runId` is the run of the session itself, also if a subagent asked. */
export interface DecidedApproval {
  readonly receipt: ApprovalReceipt
  readonly runId: string
}

/** Stores a decision about a call. The last open answer of its run queues the run in the same commit. */
export async function decideApproval(context: SessionContext, key: string, given: GivenDecision): Promise<DecidedApproval> {
  const { store, clock } = context
  const body = bodyOf(given)
  return retryOnConflict(
    async () => {
      const asker = await readApproval(context, key, given.approvalId)
      if (given.about !== undefined && asker.about !== given.about)
        throw new SessionError('unknown-approval', `The approval ${given.approvalId} is for a call, not for a budget. Use approve or deny.`)
      const session = await readSession(context, asker.session)
      // Everything judged is read after the session, because the commit tests the version of the session.
      const [call, run, inbox] = await Promise.all([
        readApproval(context, key, given.approvalId),
        readRun(store, asker.runId),
        readAnswers(store, asker.session),
      ])
      const runId = await runOf(context, key, run)
      const before = decidedBefore(call, inbox)
      if (before) return { receipt: receiptOf(checkSame(given, before), run, inbox, true), runId }
      checkOpen(given, call, run)
      await checkEdited(context, session, run, call, body)
      const row = { id: decisionId(run.id, given.approvalId), kind: 'decision', at: clock.now(), body } as const
      const all = [...inbox, row]
      if (await waitedForRelease(context, run)) return tryAgain
      const above = await answeredAbove(context, run, [given])
      if (await storeAnswers(context, session, run, [row], isAllAnswered(openQuestions(run, all)), above))
        return { receipt: receiptOf(row, run, all, false), runId }
      return tryAgain
    },
    (tries) => `The session changed ${tries} times while the decision was stored.`,
  )
}

/** Checks and copies a decision before anything is awaited: later changes by the caller have no effect. Throws `invalid-input`. */
export function copyDecision(decision: InboxDecision['decision'], approvalId: string, options: DecisionOptions): GivenDecision {
  inputChecks.checkName('approvalId', approvalId)
  checkDecisionOptions(`${decision}.options`, options)
  const { input, ...given } = options
  if (input === undefined) return { ...given, approvalId, decision }
  if (decision === 'deny') throw new SessionError('invalid-input', 'input must be absent: a call that is denied has no input.')
  return { ...given, approvalId, decision, input: checkedCopy(input, 'input') }
}

/** Returns the approval for a grant. Throws `invalid-input`. */
export function copyGrant(approvalId: string, given: GrantOptions): GivenDecision {
  checkGrantOptions('grant.amount', given)
  const { tokens, cost, ...options } = given
  const input: BudgetGrant = { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) }
  return { ...copyDecision('approve', approvalId, { ...options, input: input as JSONValue }), about: 'budget' }
}

function bodyOf({ approvalId, decision, input, reason, by }: GivenDecision): InboxDecision {
  return {
    approvalId,
    decision,
    ...(input === undefined ? {} : { input }),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
  }
}

function checkSame(given: GivenDecision, before: Decided): Decided {
  if (wordsOf(given) !== wordsOf(before.body)) throw conflict(given.approvalId)
  return before
}

function wordsOf({ decision, reason, input }: Pick<InboxDecision, 'decision' | 'reason' | 'input'>): string {
  return canonicalJson({ decision, ...(reason === undefined ? {} : { reason }), ...(input === undefined ? {} : { input }) })
}

/** Checks an edited input against the schema of the tool. Otherwise the call could not run with it. */
async function checkEdited(
  context: SessionContext,
  session: SessionRecord,
  run: RunRecord,
  call: ToolCallRecord,
  { input }: InboxDecision,
): Promise<void> {
  if (input === undefined) return
  const schema = call.about === 'budget' ? grantSchema : context.toolOf(session, run, call.name)?.inputSchema
  const checked = schema && (await validateWith(schema, input))
  if (checked?.ok) return
  const issues =
    checked?.issues.map(({ path, message }) => ({ path: ['input', path].filter((part) => part !== '').join('.'), message })) ?? []
  const why = checked ? issues.map(({ path, message }) => `${path}: ${message}`).join('; ') : 'this runtime does not know the tool'
  throw new SessionError('invalid-input', `The edited input does not fit ${call.name}: ${why}.`, { issues })
}

/** Throws if the call no longer waits for a decision: it was cancelled, or denied when its time was over. */
function checkOpen({ approvalId, inputHash }: GivenDecision, { approval, state }: ToolCallRecord, run: RunRecord): void {
  const isOpen = approval?.state === 'requested' && state === 'pending' && !isTerminal(run.status) && !run.stop
  if (!isOpen || (inputHash !== undefined && inputHash !== approval.inputHash)) throw conflict(approvalId)
}

/** Returns the run of this session. Reads the store only if a subagent asked. */
async function runOf({ store }: SessionContext, key: string, run: RunRecord): Promise<string> {
  return run.session === key ? run.id : runAbove(store, key, run.id)
}

function conflict(approvalId: string): SessionError {
  return new SessionError(
    'approval-conflict',
    `The approval ${approvalId} was already decided differently, or its input has changed. Read it again.`,
  )
}

function receiptOf({ at, body }: Decided, run: RunRecord, inbox: readonly InboxRecord[], repeated: boolean): ApprovalReceipt {
  const { approvalId, decision, by } = body
  const missing = isTerminal(run.status) ? [] : openQuestions(run, inbox).pendingApprovals.map((open) => open.approvalId)
  return { approvalId, decision, ...(by === undefined ? {} : { by }), at, repeated, missing: missing.filter((id) => id !== approvalId) }
}

async function readApproval({ store }: SessionContext, key: string, approvalId: string): Promise<ToolCallRecord> {
  const read = await store.readApproval(approvalId)
  if (read.status === 'missing' || !isBelow(read.value.session, key))
    throw new SessionError('unknown-approval', `This session has no approval ${approvalId}. Take the id from pendingApprovals.`)
  return read.value
}
