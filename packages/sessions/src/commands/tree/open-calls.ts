import type { AssistantMessage } from '@bowline/llm'
import { SessionError } from '../../errors.ts'
import { entriesBack, messageOf } from '../../writer/read-transcript.ts'
import type { SessionStore } from '../../contract/session-store.ts'

/** Returns the ids of the calls of an answer that the provider does not execute, in order. */
export function clientCallIds({ content }: AssistantMessage): readonly string[] {
  return content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? part.toolCallId : []))
}

/** Checks that a conversation can continue after this entry: it exists (else `unknown-entry`), and no call waits for its result. */
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
    throw new SessionError('invalid-input', `The entry ${entryId} is before the results of its calls: ${open.join(', ')}.`)
  }
}
