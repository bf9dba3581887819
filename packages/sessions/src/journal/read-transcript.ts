import type { StoredMessage } from '@bowline/agent-loop'
import type { SessionStore } from '../store/contract.ts'

/** The active path, oldest first. */
export async function readTranscript(store: SessionStore, key: string): Promise<readonly StoredMessage[]> {
  const messages: StoredMessage[] = []
  let before: string | undefined
  do {
    const page = await store.readPath(key, { limit: 1000, ...(before === undefined ? {} : { before }) })
    for (const entry of page.items) messages.push(entry.message)
    before = page.next === undefined ? undefined : page.items.at(-1)?.id
  } while (before !== undefined)
  return messages.reverse()
}
