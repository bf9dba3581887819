import type { Message, UserMessage } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import type { StoredMessage } from '../contract/journal.ts'
import type { Compaction, Fact } from '../events/message-events.ts'

/** The shown part of a conversation while a compaction is in force. */
interface Compacted {
  readonly compaction: Compaction
  /** Index in `all` of the first message that is shown as it is. */
  readonly start: number
  readonly shown: Message[]
}

/**
 * The messages of a conversation that a model is shown: without failed answers and their results, and with a summary instead of
 * compacted messages. The work of appending does not depend on the length; a compaction builds the list again.
 */
export class View {
  #all: StoredMessage[] = []
  #compacted: Compacted | undefined
  #freshFrom = 0
  #hidesResults = false

  get messages(): readonly Message[] {
    return this.#compacted?.shown ?? this.#all
  }

  /** The messages that would be shown without the compaction. */
  get uncompacted(): readonly StoredMessage[] {
    return this.#all
  }

  /** Index in `uncompacted` of the first message that is shown as it is. */
  get keptFrom(): number {
    return this.#compacted?.start ?? 0
  }

  /** The compaction in force. */
  get compaction(): Compaction | undefined {
    return this.#compacted?.compaction
  }

  /**
   * Index in `messages` after those that were there when the compaction was made. Usage of earlier answers belongs to another view.
   */
  get freshFrom(): number {
    return this.#freshFrom
  }

  /** Adds a message. Returns whether it is shown. */
  append(message: StoredMessage): boolean {
    if (message.role !== 'tool-result') {
      this.#hidesResults = message.role === 'assistant' && message.stopReason === 'error'
    }
    if (this.#hidesResults) return false
    this.#all.push(message)
    this.#compacted?.shown.push(message)
    return true
  }

  /**
   * Shows the summary instead of the compacted messages. If the compaction is undefined, or its first kept message does not exist,
   * the messages themselves are shown again.
   */
  setCompaction(compaction: Compaction | undefined): void {
    const start = compaction ? this.#startOf(compaction) : undefined
    if (!compaction || start === undefined) {
      this.#compacted = undefined
      this.#freshFrom = this.#all.length
      return
    }
    const shown = [markedSummary(compaction), ...this.#all.slice(start)]
    const last = this.#placeOf(compaction.lastMessageId)
    this.#compacted = { compaction, start, shown }
    this.#freshFrom = last === undefined ? shown.length : Math.max(1, last + 2 - start)
  }

  /** Removes withdrawn messages. */
  discard(messageIds: readonly string[]): void {
    const compaction = this.#compacted?.compaction
    const gone = new Set<string | undefined>(messageIds)
    this.#all = this.#all.filter(({ id }) => !gone.has(id))
    // A compaction is useless without the message that it refers to.
    if (compaction) this.setCompaction(gone.has(compaction.firstKeptMessageId || compaction.lastMessageId) ? undefined : compaction)
    else this.#freshFrom = Math.min(this.#freshFrom, this.#all.length)
  }

  #startOf({ firstKeptMessageId, lastMessageId }: Compaction): number | undefined {
    if (firstKeptMessageId !== '') return this.#placeOf(firstKeptMessageId)
    // A journal may give only the messages that came later.
    return (this.#placeOf(lastMessageId) ?? -1) + 1
  }

  #placeOf(id: string | undefined): number | undefined {
    const place = id === undefined ? -1 : this.#all.findLastIndex((message) => message.id === id)
    return place === -1 ? undefined : place
  }
}

/** Titles for kinds of facts; any other kind is its own title. */
const titles: Readonly<Record<string, string>> = {
  'file-read': 'Files read',
  'file-modified': 'Files changed',
  tool: 'Tools used',
}

/** Returns the message that a model is shown instead of summarised messages. The same compaction gives the same bytes. */
export function markedSummary({ compactionId, summary, facts }: Pick<Compaction, 'compactionId' | 'summary' | 'facts'>): UserMessage {
  const lines = ['[Summary of earlier messages, which were left out]', summary, ...factLines(facts), '[End of the summary]']
  return deepFreeze({ role: 'user', id: compactionId, content: lines.join('\n\n') })
}

function factLines(facts: readonly Fact[]): readonly string[] {
  const byKind = Map.groupBy(facts, ({ kind }) => kind)
  const lines = [...byKind].map(([kind, ofKind]) => `${titles[kind] ?? kind}: ${ofKind.map(({ value }) => value).join(', ')}`)
  return lines.length > 0 ? [lines.join('\n')] : []
}
