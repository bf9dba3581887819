import type { StoredMessage } from '@bowline/agent-loop'
import type { EntryRecord, SessionStore } from '@bowline/sessions'

/** Messages that a turn left on the active path, oldest first. */
export interface PathTurn {
  /** Undefined if the messages came with a fork, an import or a client. */
  readonly runId: string | undefined
  readonly messages: readonly StoredMessage[]
}

export interface PathPage {
  readonly turns: readonly PathTurn[]
  /** Oldest entry of the page, if there are older ones. */
  readonly next?: string
}

type MessageEntry = EntryRecord & { readonly type: 'message' }

const pageSize = 100

/**
 * Returns the newest turns of the active path, or those before an entry, until they have at least `limit` messages. No turn is
 * split.
 */
export async function readPathTurns(
  store: SessionStore,
  key: string,
  { limit, before }: { readonly limit: number; readonly before?: string },
): Promise<PathPage> {
  const entries: MessageEntry[] = []
  let from = before
  do {
    const { items, next } = await store.readPath(key, {
      limit: Math.max(limit - entries.length, pageSize),
      ...(from !== undefined && { before: from }),
    })
    entries.push(...items.filter((entry) => entry.type === 'message'))
    const end = entries.findIndex((entry, index) => index >= limit && isBoundary(entries[index - 1], entry))
    if (end >= 0) return { turns: turnsOf(entries.slice(0, end)), next: entries[end - 1]?.id ?? '' }
    from = next
  } while (from !== undefined)
  return { turns: turnsOf(entries) }
}

/** Returns true if a turn begins with `newer`. */
function isBoundary(newer: MessageEntry | undefined, older: MessageEntry): boolean {
  if (!newer || newer.runId !== older.runId) return true
  return newer.runId === undefined && newer.message.role === 'user'
}

function turnsOf(newestFirst: readonly MessageEntry[]): readonly PathTurn[] {
  const turns: { readonly runId: string | undefined; readonly messages: StoredMessage[] }[] = []
  let older: MessageEntry | undefined
  for (const entry of newestFirst.toReversed()) {
    if (!older || isBoundary(entry, older)) turns.push({ runId: entry.runId, messages: [] })
    turns.at(-1)?.messages.push(entry.message)
    older = entry
  }
  return turns
}
