import type { StoredMessage } from '@bowline/agent-loop'
import type { Redaction } from '@bowline/llm'
import type { LoggedEvent } from '@bowline/sessions'
import type { UiMessage } from './message-fold.ts'
import type { PathTurn } from './path-turns.ts'
import { TurnFold } from './turn-fold.ts'
import { userParts } from './user-parts.ts'

/**
 * Converts the stored messages of a turn to UI messages. Used if the log has no events of the turn, or more than the path has.
 * Questions, usage and other data that is not a message are missing.
 */
export function storedMessages(
  { runId, messages }: PathTurn,
  { sessionId, redaction }: { readonly sessionId: string; readonly redaction: Redaction },
): readonly UiMessage[] {
  const [first, ...others] = messages
  const rest = first?.role === 'user' ? others : messages
  const asked: readonly UiMessage[] = first?.role === 'user' ? [{ id: first.id, role: 'user', parts: userParts(first) }] : []
  const fold = new TurnFold({ sessionId, runId: runId ?? rest[0]?.id ?? '' }, redaction)
  for (const event of rest.flatMap(eventsOf)) fold.push(event as LoggedEvent)
  return fold.message ? [...asked, runId === undefined ? withoutMetadata(fold.message) : fold.message] : asked
}

function withoutMetadata({ id, role, parts }: UiMessage): UiMessage {
  return { id, role, parts }
}

/** Returns only events from which chunks are made. */
function eventsOf(message: StoredMessage): readonly object[] {
  const { id: messageId } = message
  switch (message.role) {
    case 'assistant':
      return [
        { type: 'step-start' },
        { type: 'message-start', messageId },
        { type: 'message-end', messageId, message },
        { type: 'step-end' },
      ]
    case 'tool-result':
      return [{ type: 'tool-execution-end', toolCallId: message.toolCallId, message }]
    case 'user':
      return [{ type: 'runtime-input', inputId: messageId, source: 'steer', message }]
    default: {
      const unknown: never = message
      return unknown
    }
  }
}
