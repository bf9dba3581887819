import type { InboxRecord, ToolCallRecord } from '../contract/records.ts'
import type { RunStand } from './commits.ts'
import type { ConsumedAnswer, ConsumedDecision } from './ledger-rows.ts'

/** An answer that was accepted counts whenever it is taken. */
export function withoutDeadline({ deadlineAt: _deadlineAt, ...call }: ToolCallRecord): ToolCallRecord {
  return call
}

/** A stopped run takes its answers out of the inbox, but its calls end as cancelled. */
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

/** Decisions that were taken earlier: their rows keep what was said of them. */
export function decidedIn(calls: readonly ToolCallRecord[]): readonly (readonly [string, ConsumedDecision])[] {
  return calls.flatMap(({ approval }) => (approval?.decided ? [[approval.approvalId, { decided: approval.decided }] as const] : []))
}

export function isAnswered({ toolCallId, approval }: ToolCallRecord, { answers, decisions }: RunStand): boolean {
  const decision = approval && decisions.get(approval.approvalId)
  return answers.has(toolCallId) || decision?.inboxId !== undefined
}

