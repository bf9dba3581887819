import { toolCallOf } from '@bowline/agent-loop/events'
import type { OpenMessage, RunView, ToolCallView } from '@bowline/agent-loop/events'
import type { Resolution, ToolAnswer } from '../session/actions.ts'
import { LocationCard } from './location-card.tsx'
import { RecoveryCard } from './recovery-card.tsx'
import { ToolCard } from './tool-card.tsx'

interface CallCardProps {
  readonly toolCallId: string
  readonly view: RunView
  readonly connected: boolean
  readonly onAnswer: (answer: ToolAnswer) => Promise<unknown>
  readonly onResolve: (toolCallId: string, resolution: Resolution) => Promise<unknown>
}

/** The card of one call with what the reader can do about it. */
export function CallCard({ toolCallId, view, connected, onAnswer, onResolve }: CallCardProps) {
  const call = toolCallOf(view, toolCallId) ?? callBeingWritten(view.open, toolCallId)
  if (!call) return null
  const pending = view.pendingToolCalls.find((waiting) => waiting.toolCallId === toolCallId)
  const lost = pending?.unknown === true
  return (
    <ToolCard call={call} progress={view.progress[toolCallId]} lost={lost} unreachable={!connected}>
      {pending && !lost && call.toolName === 'get_location' && <LocationCard toolCallId={toolCallId} onAnswer={onAnswer} />}
      {lost && <RecoveryCard call={call} onResolve={(resolution) => onResolve(toolCallId, resolution)} />}
    </ToolCard>
  )
}

function callBeingWritten(open: OpenMessage | undefined, toolCallId: string): ToolCallView | undefined {
  const block = open?.blocks.find((candidate) => candidate.type === 'tool-call' && candidate.toolCallId === toolCallId)
  if (block?.type !== 'tool-call') return undefined
  const { toolName, toolCall, inputText } = block
  return { toolCallId, toolName, input: toolCall?.input ?? inputText, state: 'pending', attempt: 0 }
}
