import { repairTranscript, type IdSource, type StoredMessage } from '@bowline/agent-loop'
import type { Message } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import type { NewEntry, Write } from '../store/batch.ts'
import { checkJson } from '../stores/json.ts'

const mostMessages = 1000

/** What a session is to begin with, copied and with ids. Throws `invalid-input` for what is no transcript. */
export function historyOf(messages: readonly Message[], ids: IdSource): readonly StoredMessage[] {
  if (messages.length > mostMessages) throw new SessionError('invalid-input', `A history must have at most ${mostMessages} messages.`)
  checkJson(messages, 'history')
  const transcript = repairTranscript(messages.map((message) => ({ ...message, id: message.id ?? ids.next('msg') })))
  const [wrong] = transcript.repairs
  if (wrong) throw new SessionError('invalid-input', `Message ${wrong.messageIndex + 1} of the history is not right: ${wrong.code}.`)
  return transcript.messages as readonly StoredMessage[]
}

/** One after the other; the active path ends with the last. */
export function historyWrites(history: readonly StoredMessage[], at: number): readonly Write[] {
  const entries = history.map((message, place): NewEntry => {
    return { id: message.id, parentId: history[place - 1]?.id ?? null, at, type: 'message', message }
  })
  return entries.length > 0 ? [{ op: 'entry.append', entries }] : []
}
