import type { Message, ToolOutput } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import type { OutcomeStatus } from '../events/types.ts'
import { NotJsonError, copyJson, deepFreeze } from '../json.ts'
import type { StoredMessage } from '../journal/journal.ts'
import { clientCalls } from './client-calls.ts'
import { TranscriptGuard } from './guard.ts'

/**
 * A given transcript as it is stored: copied, with ids where there were none, and with the fields of stored results.
 * Throws `invalid-transcript` when it breaks an invariant.
 */
export function earlierMessages(messages: readonly Message[]): readonly StoredMessage[] {
  const guard = new TranscriptGuard()
  let places = new Map<string, number>()
  const stored = messages.map((given, position) => {
    const message = plain(given, position)
    if (message.role === 'assistant') places = new Map(clientCalls(message).map((call, index) => [call.toolCallId, index]))
    const entry = asStored(message, position, places)
    guard.append(entry)
    return deepFreeze(entry)
  })
  const [open] = guard.openCalls
  if (open !== undefined) throw new AgentError('invalid-transcript', `the call ${open} has no result`)
  return stored
}

function plain(message: Message, position: number): Message {
  try {
    const copy = copyJson(message) as unknown as Message
    if (copy.role === 'user' || copy.role === 'assistant' || copy.role === 'tool-result') return copy
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error
    throw new AgentError('invalid-transcript', `message ${message.id ?? position}: ${error.message}`, { cause: error })
  }
  throw new AgentError('invalid-transcript', `entry ${position} is no message`)
}

function asStored(message: Message, position: number, places: ReadonlyMap<string, number>): StoredMessage {
  const id = message.id ?? `earlier_${position + 1}`
  if (message.role !== 'tool-result') return { ...message, id }
  const index = places.get(message.toolCallId) ?? 0
  return { at: 0, status: statusOf(message.output), index, ...message, id }
}

function statusOf(output: ToolOutput): OutcomeStatus {
  switch (output.type) {
    case 'text':
    case 'json':
    case 'content':
      return 'result'
    case 'error-text':
    case 'error-json':
      return 'error'
    case 'execution-denied':
      return 'denied'
    default: {
      const unknown: never = output
      return unknown
    }
  }
}
