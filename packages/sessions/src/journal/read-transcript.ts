import type { Compaction, StoredMessage } from '@bowline/agent-loop'
import type { PathOptions, SessionStore } from '../store/contract.ts'
import type { EntryRecord } from '../store/records.ts'

export interface StoredTranscript {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[]
  /** The newest one. */
  readonly compaction?: Compaction
}

/** What stands on the active path, as far as a model is shown it. */
export async function readTranscript(store: SessionStore, key: string): Promise<StoredTranscript> {
  const messages: StoredMessage[] = []
  let compaction: Compaction | undefined
  for await (const entry of entriesBack(store, key, { limit: 1000, context: true })) {
    if (entry.type === 'compaction') compaction ??= entry.compaction
    const message = messageOf(entry)
    if (message) messages.push(message)
  }
  return { messages: messages.reverse(), ...(compaction ? { compaction } : {}) }
}

/** The path from the leaf back to the oldest of these messages, newest first. */
export async function readBackTo(store: SessionStore, key: string, messageIds: Iterable<string>): Promise<readonly EntryRecord[]> {
  const missing = new Set(messageIds)
  const entries: EntryRecord[] = []
  if (missing.size === 0) return entries
  for await (const entry of entriesBack(store, key, { limit: 20 })) {
    entries.push(entry)
    if (entry.type === 'message' && missing.delete(entry.message.id) && missing.size === 0) break
  }
  return entries
}

async function* entriesBack(store: SessionStore, key: string, options: PathOptions): AsyncGenerator<EntryRecord, void, undefined> {
  let next = options
  for (;;) {
    const page = await store.readPath(key, next)
    yield* page.items
    if (page.next === undefined) return
    next = { ...next, before: page.next, ...(next.context === true && contextOf(page.items)) }
  }
}

/** Where the context begins, when the compaction that says so has been passed. */
function contextOf(entries: readonly EntryRecord[]): { context?: string } {
  const newest = entries.find((entry) => entry.type === 'compaction')
  return newest ? { context: newest.compaction.firstKeptMessageId } : {}
}

/** What a model is shown of an entry: summaries and notes come to it as words of the user. */
export function messageOf(entry: EntryRecord): StoredMessage | undefined {
  switch (entry.type) {
    case 'message':
      return entry.message
    case 'branch-summary':
      return { role: 'user', id: entry.id, content: entry.summary.text }
    case 'note':
      return { role: 'user', id: entry.id, content: entry.text }
    case 'compaction':
    case 'custom':
    case 'label':
      return undefined
    default: {
      const unknown: never = entry
      return unknown
    }
  }
}
