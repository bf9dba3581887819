import type { Change, Folds } from './folds.ts'
import { sumCost } from './sum-cost.ts'
import { sumUsage } from './sum-usage.ts'
import type { MessageEndEvent, UsageEvent } from './types.ts'
import type { RunView, ToolCallView } from './view.ts'

/** What makes the transcript, and what it cost. */
export const foldMessage: Folds<
  'user-message' | 'runtime-input' | 'message-start' | 'message-end' | 'message-discarded' | 'step-end' | 'usage'
> = {
  'user-message': (view, { message }) => ({ messages: [...view.messages, message] }),
  'runtime-input': (view, { message }) => (message ? { messages: [...view.messages, message] } : {}),
  'message-start': (_view, { messageId, step, attempt, model }) => ({ step, open: { messageId, step, attempt, model, blocks: [] } }),
  'message-end': (view, event) => {
    const asked = askedFor(event)
    return {
      messages: [...view.messages, event.message],
      open: undefined,
      ...spend(view, event.message),
      ...(asked.length > 0 && { toolCalls: [...view.toolCalls, ...asked] }),
    }
  },
  'message-discarded': (view, { messageId }) => discard(view, messageId),
  'step-end': () => ({ progress: {} }),
  // What a compaction behind the turn costs is not the turn's.
  usage: (view, event) => (view.phase === 'compaction' ? {} : spend(view, event)),
}

function spend(view: RunView, part: Pick<UsageEvent, 'usage' | 'cost'>): Change {
  return { usage: sumUsage(view.usage, part.usage), cost: sumCost(view, part) }
}

function askedFor({ message }: MessageEndEvent): readonly ToolCallView[] {
  return message.content.flatMap((part): ToolCallView[] => {
    if (part.type !== 'tool-call' || part.providerExecuted) return []
    const { toolCallId, toolName, input } = part
    return [{ toolCallId, toolName, input, state: 'pending', attempt: 0 }]
  })
}

/** Of an answer that is withdrawn the calls go too; their results are withdrawn by ids of their own. */
function discard(view: RunView, messageId: string): Change {
  const { open, messages, toolCalls } = view
  if (open?.messageId === messageId) return { open: undefined }
  const place = messages.findLastIndex((message) => message.id === messageId)
  const message = messages[place]
  if (!message) return {}
  const calls = message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : []
  return {
    messages: messages.toSpliced(place, 1),
    ...(calls.length > 0 && { toolCalls: toolCalls.filter((call) => !calls.includes(call.toolCallId)) }),
  }
}
