import type { IdSource, StoredMessage } from '@bowline/agent-loop'
import { repairTranscript, type TranscriptRepairCode } from '@bowline/agent-loop/repair'
import type { Message } from '@bowline/llm'
import { isRecord } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { NewEntry, Write } from '../contract/batch.ts'
import { checkJson } from '../json.ts'
import { checkEntryId } from '../keys.ts'

const mostMessages = 1000

/** Returns the initial history of a session, copied and with ids. Throws `invalid-input` if it is no valid transcript. */
export function historyOf(messages: readonly Message[], ids: IdSource): readonly StoredMessage[] {
  if (messages.length > mostMessages)
    throw new SessionError('invalid-input', `history must have at most ${mostMessages} messages; it has ${messages.length}.`)
  checkJson(messages, 'history')
  for (const [place, message] of messages.entries()) checkShape(`history[${place}]`, message)
  const transcript = repairTranscript(messages.map((message) => ({ ...message, id: message.id ?? ids.next('msg') })))
  const [wrong] = transcript.repairs
  if (wrong)
    throw new SessionError(
      'invalid-input',
      `history[${wrong.messageIndex}] is not a valid message of a transcript: ${faults[wrong.code]} (${wrong.code}).`,
    )
  return transcript.messages as readonly StoredMessage[]
}

const faults: Readonly<Record<TranscriptRepairCode, string>> = {
  'message-id': 'its id is not a text, or was used before',
  'call-id': 'the id of one of its calls is not a text, or was used before',
  'missing-result': 'one of its calls has no result',
  'orphan-result': 'no call of this id comes before it',
  'duplicate-result': 'the call has a result already',
  'moved-result': 'it does not follow the message with its call',
  'tool-name': 'it names another tool than its call',
  status: 'its call cannot have run',
  field: 'one of its fields is missing, or of another kind',
  'dropped-part': 'one of its parts is of no known type, or lacks a field',
  'dropped-message': 'its role or its content is missing, or of another kind',
}

function checkShape(path: string, message: unknown): void {
  inputChecks.checkRequired(path, message, 'a message', isRecord)
  const { role, id } = message as Partial<Message>
  inputChecks.checkRequired(
    `${path}.role`,
    role,
    'user, assistant or tool-result',
    (value) => value === 'user' || value === 'assistant' || value === 'tool-result',
  )
  inputChecks.optional(checkEntryId)(`${path}.id`, id)
}

/** Appends the messages one after the other. The active path ends with the last. */
export function historyWrites(history: readonly StoredMessage[], at: number): readonly Write[] {
  const entries = history.map((message, place): NewEntry => {
    return { id: message.id, parentId: history[place - 1]?.id ?? null, at, type: 'message', message }
  })
  return entries.length > 0 ? [{ op: 'entry.append', entries }] : []
}
