import type { CallRow } from '@bowline/agent-loop'
import type { ApprovalRecord, ToolCallRecord } from '../contract/records.ts'

/** Answer from outside, and its place in the inbox until a commit takes it. */
export interface ConsumedAnswer {
  readonly inboxId: string
  /** Absent if the answer came too late to count. */
  readonly hash?: string
}

/** Decision from outside. Without `inboxId` it was taken earlier. */
export interface ConsumedDecision {
  readonly inboxId?: string
  readonly decided: NonNullable<ApprovalRecord['decided']>
}

interface Given {
  readonly answer?: ConsumedAnswer | undefined
  readonly decision?: ConsumedDecision | undefined
}

/** Returns the row for storage. Its answer is identified by the hash of the submitted form. */
export function callRecord(call: CallRow, session: string, { answer, decision }: Given): ToolCallRecord {
  const { state, toolName, outcome, answerHash: _answerHash, approval, ...rest } = call
  return {
    ...rest,
    session,
    name: toolName,
    state: state === 'pending' || state === 'started' || state === 'remote' ? state : 'settled',
    ...(outcome ? { status: outcome.status, outcome } : {}),
    ...(answer?.hash === undefined ? {} : { answerHash: answer.hash }),
    ...(approval ? { approval: { ...approval, ...(decision ? { decided: decision.decided } : {}) } } : {}),
  }
}

export function callRow(record: ToolCallRecord): CallRow {
  const { session: _session, name, state, status, answerHash: _answer, approval, ...rest } = record
  return {
    ...rest,
    toolName: name,
    state: state === 'settled' ? (status ?? 'error') : state,
    ...(approval ? { approval: withoutDecided(approval) } : {}),
  }
}

function withoutDecided({ decided: _decided, ...approval }: ApprovalRecord): NonNullable<CallRow['approval']> {
  return approval
}
