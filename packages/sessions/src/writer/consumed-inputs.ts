import type { InboxRecord, ToolCallRecord } from '../contract/records.ts'
import type { RunStand } from './commits.ts'
import type { ConsumedAnswer, ConsumedDecision } from './ledger-rows.ts'

/** Removes the deadline: an accepted answer counts whenever it is taken. */
export function withoutDeadline({ deadlineAt: _deadlineAt, ...call }: ToolCallRecord): ToolCallRecord {
  return call
}

/** Returns the answers and decisions to take out of the inbox. Calls of a stopped run end as cancelled all the same. */
export function consumedInputs(rows: readonly InboxRecord[], stopped: boolean): Pick<RunStand, 'answers' | 'decisions'> {
  const answers = new Map<string, ConsumedAnswer>()
  const decisions = new Map<string, ConsumedDecision>()
  for (const { id: inboxId, at, ...row } of rows) {
    if (row.kind === 'answer') answers.set(row.body.toolCallId, { inboxId, ...(stopped ? {} : { hash: row.body.hash }) })
    if (row.kind === 'decision') {
      const { approvalId, by } = row.body
      decisions.set(approvalId, { inboxId, decided: { at, ...(by === undefined ? {} : { by }) } })
    }
  }
  return { answers, decisions }
}

/** Returns decisions that were taken earlier and remain in the rows of their calls. */
export function decidedIn(calls: readonly ToolCallRecord[]): readonly (readonly [string, ConsumedDecision])[] {
  return calls.flatMap(({ approval }) => (approval?.decided ? [[approval.approvalId, { decided: approval.decided }] as const] : []))
}

export function isAnswered({ toolCallId, approval }: ToolCallRecord, { answers, decisions }: RunStand): boolean {
  const decision = approval && decisions.get(approval.approvalId)
  return answers.has(toolCallId) || decision?.inboxId !== undefined
}
