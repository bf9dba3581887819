import { toolCallOf } from '@bowline/agent-loop/events'
import type { OpenMessage, RunView, ToolCallView } from '@bowline/agent-loop/events'
import { ApprovalCard } from './approval-card.tsx'
import { ChildCard } from './child-card.tsx'
import type { ChildActions } from './child-card.tsx'
import type { ConversationActions } from './conversation-panel.tsx'
import { LocationCard } from './location-card.tsx'
import { Permitted } from './permitted.tsx'
import { RecoveryCard } from './recovery-card.tsx'
import { RemoteCard } from './remote-card.tsx'
import { ToolCard } from './tool-card.tsx'

interface CallCardProps {
  readonly toolCallId: string
  readonly view: RunView
  /** Output so far. */
  readonly progress: string | undefined
  readonly connected: boolean
  readonly childActions: (childRunId: string) => ChildActions | undefined
  /** Absent if no action is allowed. */
  readonly actions: Pick<ConversationActions, 'denied' | 'onAnswer' | 'onResolve' | 'onDecide'> | undefined
}

/** Card of one call and its actions. */
export function CallCard({ toolCallId, view, progress, connected, childActions, actions }: CallCardProps) {
  const call = toolCallOf(view, toolCallId) ?? callBeingWritten(view.open, toolCallId)
  if (!call) return null
  // Questions of agents that the call started are shown here too.
  const isHere = (asked: { readonly toolCallId: string; readonly path: readonly string[] }): boolean =>
    (asked.path[0] ?? asked.toolCallId) === toolCallId
  const pending = view.pendingToolCalls.filter(isHere)
  const approvals = view.pendingApprovals.filter(isHere)
  const lost = pending.some((waiting) => waiting.toolCallId === toolCallId && waiting.unknown)
  return (
    <ToolCard call={call} progress={progress} lost={lost} asked={approvals.length > 0} unreachable={!connected}>
      {view.children
        .filter((child) => child.toolCallId === toolCallId)
        .map((child) => (
          <ChildCard key={child.childRunId} child={child} actions={childActions(child.childRunId)} />
        ))}
      {actions &&
        approvals.map((request) => (
          <Permitted key={request.approvalId} denied={actions.denied.decide}>
            <ApprovalCard request={request} onDecide={actions.onDecide} />
          </Permitted>
        ))}
      {actions &&
        pending
          .filter((waiting) => !waiting.unknown)
          .map((waiting) => {
            const Card = waiting.toolName === 'get_location' ? LocationCard : RemoteCard
            return (
              <Permitted key={waiting.toolCallId} denied={actions.denied.write}>
                <Card call={waiting} onAnswer={actions.onAnswer} />
              </Permitted>
            )
          })}
      {actions && lost && (
        <Permitted denied={actions.denied.decide}>
          <RecoveryCard call={call} onResolve={(resolution) => actions.onResolve(toolCallId, resolution)} />
        </Permitted>
      )}
    </ToolCard>
  )
}

function callBeingWritten(open: OpenMessage | undefined, toolCallId: string): ToolCallView | undefined {
  const block = open?.blocks.find((candidate) => candidate.type === 'tool-call' && candidate.toolCallId === toolCallId)
  if (block?.type !== 'tool-call') return undefined
  const { toolName, toolCall, inputText } = block
  return { toolCallId, toolName, input: toolCall?.input ?? inputText, state: 'pending', attempt: 0 }
}
