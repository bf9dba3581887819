import type { AssistantMessage, Message } from '@bowline/llm'
import { describeValue } from '@bowline/llm/arguments'
import { AgentError, messageOf } from '../base/agent-error.ts'
import { copyJson, deepFreeze } from '../base/json.ts'
import { isOutcomeStatus, neverRan, statusOfOutput, wrongShape } from '../base/messages.ts'
import type { StoredMessage } from '../contract/journal.ts'
import type { OutcomeStatus } from '../events/turn-events.ts'
import { idGiver, TranscriptGuard } from './guard.ts'

/**
 * Returns a given transcript as it is stored: copied, with ids where there were none, and with the fields of stored results. Throws
 * `invalid-transcript` that names the ids if it breaks an invariant.
 */
export function earlierMessages(messages: readonly Message[]): readonly StoredMessage[] {
  if (!Array.isArray(messages))
    throw new AgentError('invalid-transcript', `messages must be a list of messages; received ${describeValue(messages)}`)
  const copies = Array.from(messages, copyOf)
  const ids = idGiver(copies.map(({ id }) => id))
  const guard = new TranscriptGuard()
  let answer: AssistantMessage | undefined
  let index = 0
  const stored = copies.map((message, position) => {
    // The guard refuses a repeated id; it is not changed here.
    const id = message.id ?? ids(undefined, `earlier_${position + 1}`)
    if (message.role === 'tool-result') {
      const entry = { ...message, at: message.at ?? 0, id, status: statusOf(message, answer), index: index++ }
      guard.append(entry)
      return deepFreeze(entry)
    }
    answer = message.role === 'assistant' ? { ...message, id } : undefined
    index = 0
    guard.append({ ...message, id })
    return deepFreeze({ ...message, id })
  })
  guard.checkEnd()
  return stored
}

function copyOf(given: Message, position: number): Message {
  try {
    const copy = copyJson(given)
    const problem = wrongShape(copy)
    if (problem === undefined) return copy as unknown as Message
    throw new TypeError(problem)
  } catch (error) {
    const name = typeof given?.id === 'string' && given.id !== '' ? given.id : `at ${position}`
    throw new AgentError('invalid-transcript', `message ${name}: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Returns the stored status. A result that was never stored here gets the status of its output; but no call of a broken answer has
 * run.
 */
function statusOf(result: Extract<Message, { role: 'tool-result' }>, answer: AssistantMessage | undefined): OutcomeStatus {
  if ('status' in result && isOutcomeStatus(result.status)) return result.status
  const status = statusOfOutput(result.output)
  return status === 'result' && answer && neverRan(answer) ? 'cancelled' : status
}
