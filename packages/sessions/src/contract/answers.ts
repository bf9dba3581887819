import type { InboxDecision, InboxRecord, RunRecord, ToolCallRecord } from './records.ts'
import type { SessionStore } from './session-store.ts'

export function answerId(runId: string, toolCallId: string): string {
  return `answer:${runId}:${toolCallId}`
}

export function decisionId(runId: string, approvalId: string): string {
  return `decision:${runId}:${approvalId}`
}

/** The questions that a run waits for. */
export type OpenQuestions = Pick<RunRecord, 'pendingToolCalls' | 'pendingApprovals'>

/** Returns the questions that have no answer in the inbox. */
export function openQuestions(run: Pick<RunRecord, 'id'> & OpenQuestions, inbox: readonly InboxRecord[]): OpenQuestions {
  const answered = new Set(inbox.map((row) => row.id))
  return {
    pendingToolCalls: run.pendingToolCalls.filter((call) => call.path.length > 0 || !answered.has(answerId(run.id, call.toolCallId))),
    pendingApprovals: run.pendingApprovals.filter((each) => !answered.has(decisionId(run.id, each.approvalId))),
  }
}

export function isAllAnswered({ pendingToolCalls, pendingApprovals }: OpenQuestions): boolean {
  return pendingToolCalls.length === 0 && pendingApprovals.length === 0
}

export function readAnswers(store: SessionStore, key: string): Promise<readonly InboxRecord[]> {
  return store.readInbox(key, ['answer', 'decision'])
}

export interface Decided {
  readonly at: number
  readonly body: InboxDecision
}

/** Returns the decision that was accepted earlier: it waits in the inbox, or a run has taken it. */
export function decidedBefore({ approval, runId }: ToolCallRecord, inbox: readonly InboxRecord[]): Decided | undefined {
  if (!approval) return undefined
  const { approvalId, decision, decided } = approval
  const waiting = inbox.find((row) => row.id === decisionId(runId, approvalId))
  if (waiting?.kind === 'decision') return waiting
  if (decision === undefined || !decided) return undefined
  const { at, ...by } = decided
  return { at, body: { approvalId, ...(JSON.parse(decision) as Pick<InboxDecision, 'decision' | 'reason' | 'input'>), ...by } }
}
