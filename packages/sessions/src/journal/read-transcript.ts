import type { Compaction, StoredMessage } from '@bowline/agent-loop'
import type { SessionStore } from '../store/contract.ts'
import type { EntryRecord } from '../store/records.ts'

export interface StoredTranscript {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[]
  /** The newest one. */
  readonly compaction?: Compaction
}

/** What stands on the active path. */
export async function readTranscript(store: SessionStore, key: string): Promise<StoredTranscript> {
  const messages: StoredMessage[] = []
  let compaction: Compaction | undefined
  for await (const entry of entriesBack(store, key, 1000)) {
    if (entry.type === 'message') messages.push(entry.message)
    else compaction ??= entry.compaction
  }
  return { messages: messages.reverse(), ...(compaction ? { compaction } : {}) }
}

/** The path from the leaf back to the oldest of these messages, newest first. */
export async function readBackTo(store: SessionStore, key: string, messageIds: Iterable<string>): Promise<readonly EntryRecord[]> {
  const missing = new Set(messageIds)
  const entries: EntryRecord[] = []
  if (missing.size === 0) return entries
  for await (const entry of entriesBack(store, key, 20)) {
    entries.push(entry)
    if (entry.type === 'message' && missing.delete(entry.message.id) && missing.size === 0) break
  }
  return entries
}

async function* entriesBack(store: SessionStore, key: string, limit: number): AsyncGenerator<EntryRecord, void, undefined> {
  let before: string | undefined
  do {
    const page = await store.readPath(key, { limit, ...(before === undefined ? {} : { before }) })
    yield* page.items
    before = page.next === undefined ? undefined : page.items.at(-1)?.id
  } while (before !== undefined)
}
