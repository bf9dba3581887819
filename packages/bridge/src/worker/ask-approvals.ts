import type { AgentContext, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { Answer, PendingInput } from '../agent.ts'

const options = [
  { optionId: 'approve', name: 'Approve', kind: 'allow_once' as const },
  { optionId: 'deny', name: 'Deny', kind: 'reject_once' as const },
]

/** Asks a plain ACP client for decisions. Returns undefined if it cancelled or cannot answer one of the questions. */
export async function askApprovals(
  client: AgentContext,
  sessionId: string,
  pending: readonly PendingInput[],
): Promise<readonly Answer[] | undefined> {
  if (pending.some(({ kind }) => kind !== 'approval')) return undefined
  const answers: Answer[] = []
  for (const { id, toolName, input } of pending) {
    const toolCall = { toolCallId: id, title: toolName, rawInput: input }
    const request: RequestPermissionRequest = { sessionId, toolCall, options }
    const { outcome } = await client.request<RequestPermissionResponse>('session/request_permission', request)
    if (outcome.outcome !== 'selected') return undefined
    answers.push({ id, decision: outcome.optionId === 'approve' ? 'approve' : 'deny' })
  }
  return answers
}
