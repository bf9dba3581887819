import type { Compaction, StoredMessage } from '@bowline/agent-loop'
import type { PathOptions, SessionStore } from '../contract/session-store.ts'
import { nextTurn, pageLimit, type Page } from '../contract/paging.ts'
import type { EntryRecord } from '../contract/records.ts'

export interface StoredTranscript {
  /** Oldest first. With a compaction, they may start with the part that it kept. */
  readonly messages: StoredMessage[]
  /** The newest compaction. */
  readonly compaction?: Compaction
}

export interface TranscriptOptions {
  /** Default: the leaf of the session. */
  readonly leaf?: string | undefined
  /** Id of a run that has not ended. */
  readonly openRun?: string | undefined
}

const pageSizes = { first: 250, further: 500 } as const

/**
 * Returns the part of the active path that a model sees: back to the part that its newest compaction kept. Ignores a compaction of
 * the open run: if the turn is withdrawn, the compaction is no longer in effect.
 */
export async function readTranscript(
  store: SessionStore,
  key: string,
  { leaf, openRun }: TranscriptOptions = {},
): Promise<StoredTranscript> {
  const messages: StoredMessage[] = []
  let compaction: Compaction | undefined
  let oldest: string | undefined
  for await (const entry of entriesBack(store, key, { limit: pageSizes.first, ...(leaf !== undefined && { leaf }) }, pageSizes.further)) {
    if (entry.type === 'compaction') {
      compaction ??= entry.compaction
      if (oldest === undefined && entry.runId !== openRun) oldest = oldestKept(compaction)
    }
    const message = messageOf(entry)
    if (!message) continue
    messages.push(message)
    if (message.id === oldest) break
  }
  return transcriptOf(messages, compaction)
}

/** Returns the id of the first message that the compaction does not replace. */
export function oldestKept({ firstKeptMessageId, lastMessageId }: Compaction): string | undefined {
  return firstKeptMessageId === '' ? lastMessageId : firstKeptMessageId
}

function transcriptOf(newestFirst: StoredMessage[], compaction: Compaction | undefined): StoredTranscript {
  return { messages: newestFirst.reverse(), ...(compaction ? { compaction } : {}) }
}

/** Returns an entry as a model sees it: summaries and notes become user messages. */
export function messageOf(entry: EntryRecord): StoredMessage | undefined {
  switch (entry.type) {
    case 'message':
      return entry.message
    case 'branch-summary':
      return { role: 'user', id: entry.id, content: `[Summary of a branch of the conversation that was left]\n\n${entry.summary.text}` }
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

/** Returns the path from the leaf back to the oldest of these messages, newest first. */
export async function readBackTo(store: SessionStore, key: string, messageIds: ReadonlySet<string>): Promise<readonly EntryRecord[]> {
  const missing = new Set(messageIds)
  const found: EntryRecord[] = []
  for await (const entry of entriesBack(store, key, { limit: 20 })) {
    found.push(entry)
    if (entry.type === 'message' && missing.delete(entry.message.id) && missing.size === 0) return found
  }
  return found
}

/** Yields a path from its leaf to the root. `further`: size of the pages after the first one. */
export async function* entriesBack(
  store: SessionStore,
  key: string,
  options: PathOptions,
  further = pageLimit(options.limit),
): AsyncGenerator<EntryRecord, void, undefined> {
  for (let next: PathOptions | undefined = options; next;) {
    const page: Page<EntryRecord> = await store.readPath(key, next)
    yield* page.items
    next = page.next === undefined ? undefined : { ...options, limit: further, before: page.next }
    if (next) await nextTurn()
  }
}
