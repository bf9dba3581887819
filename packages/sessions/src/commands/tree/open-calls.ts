import type { AssistantMessage } from '@bowline/llm'
import { SessionError } from '../../errors.ts'
import { entriesBack, messageOf } from '../../writer/read-transcript.ts'
import type { SessionStore } from '../../contract/session-store.ts'

/** Ids of the calls of an answer that are ours to run, in order. */
export function clientCallIds({ content }: AssistantMessage): readonly string[] {
  return content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? part.toolCallId : []))
}

/** A place where a conversation can go on: it must be there (`unknown-entry`), and no call may wait for its result. */
export async function checkPlace(store: SessionStore, key: string, entryId: string): Promise<void> {
  const settled = new Set<string>()
  for await (const entry of entriesBack(store, key, { leaf: entryId, limit: 50 })) {
    const message = messageOf(entry)
    if (!message) continue
    if (message.role === 'user') return
    if (message.role === 'tool-result') {
      settled.add(message.toolCallId)
      continue
    }
    const open = clientCallIds(message).filter((id) => !settled.has(id))
    if (open.length === 0) return
    throw new SessionError('invalid-input', `The entry ${entryId} stands between ${open.length === 1 ? 'a call and its result' : 'calls and their results'}: ${open.join(', ')}.`)
  }
}
