import type { Compaction, JournalRecord, StoredMessage } from '@bowline/agent-loop'
import type { SessionStore } from '../contract/session-store.ts'
import { charactersIn } from '../json.ts'
import { messageOf, oldestKept, readTranscript } from './read-transcript.ts'

/** `characters`: of all transcripts together, in UTF-16 units. */
const usualMost = { sessions: 1_000, characters: 2 ** 25 }
/** Number of entries searched for a known leaf. */
const searchedEntries = 100

/** Cached conversations of the sessions in which this process has worked recently. */
export class Conversations {
  readonly #bySession = new Map<string, Conversation>()
  readonly #most: Readonly<typeof usualMost>
  #characters = 0

  /** Tests pass smaller limits. */
  constructor(most: Readonly<typeof usualMost> = usualMost) {
    this.#most = most
  }

  of(sessionId: string): Conversation {
    const conversation = this.#bySession.get(sessionId) ?? new Conversation((by) => this.#grow(by))
    this.#bySession.delete(sessionId)
    this.#bySession.set(sessionId, conversation)
    this.#grow(0)
    return conversation
  }

  /** Drops the conversation of an ended session, or of one too many. A run that uses it reads on, uncounted. */
  forget(sessionId: string): void {
    this.#characters -= this.#bySession.get(sessionId)?.leave() ?? 0
    this.#bySession.delete(sessionId)
  }

  /** Drops the oldest conversations until the rest is within the limits. */
  #grow(by: number): void {
    this.#characters += by
    for (const sessionId of this.#bySession.keys()) {
      if (this.#bySession.size <= this.#most.sessions && this.#characters <= this.#most.characters) return
      this.forget(sessionId)
    }
  }
}

/** The transcript up to a leaf, and the newest compaction. */
interface Shown {
  /** The loop keeps what it knows of this list by the list itself, so the list may only grow: else it becomes another one. */
  messages: StoredMessage[]
  compaction: Compaction | undefined
}

interface Known extends Shown {
  leaf: string | null
  characters: number
}

/**
 * Caches the transcript that a turn has read and written, so that the next turn need not read it. The path to an entry never
 * changes. The loop uses this object as the key of its own notes about a conversation.
 */
export class Conversation {
  #grow: (by: number) => void
  #known: Known | undefined

  /** `grow` is called with the change of the number of remembered characters. */
  constructor(grow: (by: number) => void) {
    this.#grow = grow
  }

  /** Returns the transcript up to this leaf. `openRun` is a run whose turn has started and may be withdrawn. */
  async read(store: SessionStore, key: string, leaf: string | null, openRun: string | undefined): Promise<Shown> {
    const known = this.#known
    if (openRun === undefined && known && (await this.#catchUp(known, store, key, leaf))) return this.#shown(known)
    const { messages = [], compaction } = leaf === null ? {} : await readTranscript(store, key, { leaf, openRun })
    this.forget()
    this.#known = { leaf, messages, compaction, characters: 0 }
    this.#count(this.#known, charactersIn(messages))
    return { messages, compaction }
  }

  /** Records a commit of the turn that moved the path from one leaf to another. */
  committed(records: readonly JournalRecord[], from: string | null, to: string | null): void {
    const known = this.#known
    if (!known) return
    if (known.leaf !== from || records.some(({ type }) => type === 'discard')) return this.forget()
    known.leaf = to
    known.compaction = records.findLast((record) => record.type === 'compaction')?.compaction ?? known.compaction
    this.#add(
      known,
      records.flatMap((record) => (record.type === 'append' ? [record.message] : [])),
    )
  }

  forget(): void {
    const characters = this.#known?.characters ?? 0
    this.#known = undefined
    this.#grow(-characters)
  }

  /** Stops counting the conversation, even if a run still uses it. Returns the number of characters that were counted. */
  leave(): number {
    const characters = this.#known?.characters ?? 0
    this.#known = undefined
    this.#grow = () => undefined
    return characters
  }

  /**
   * Reads the entries added after the known leaf by other processes. Returns false if that leaf is not on the path or too far back.
   */
  async #catchUp(known: Known, store: SessionStore, key: string, leaf: string | null): Promise<boolean> {
    if (known.leaf === leaf) return true
    if (known.leaf === null || leaf === null) return false
    const { items } = await store.readPath(key, { leaf, limit: searchedEntries })
    const behind = items.findIndex(({ id }) => id === known.leaf)
    if (behind === -1 || known !== this.#known) return false
    const newer = items.slice(0, behind)
    known.leaf = leaf
    known.compaction = newer.find((entry) => entry.type === 'compaction')?.compaction ?? known.compaction
    this.#add(
      known,
      newer.reverse().flatMap((entry) => messageOf(entry) ?? []),
    )
    return true
  }

  /** Drops the messages that the compaction replaces. */
  #shown(known: Known): Shown {
    const { messages, compaction } = known
    const oldest = compaction && oldestKept(compaction)
    const hidden = oldest === undefined ? 0 : messages.findIndex(({ id }) => id === oldest)
    if (hidden <= 0) return { messages, compaction }
    this.#count(known, -charactersIn(messages.slice(0, hidden)))
    known.messages = messages.slice(hidden)
    return { messages: known.messages, compaction }
  }

  #add(known: Known, messages: readonly StoredMessage[]): void {
    known.messages.push(...messages)
    this.#count(known, charactersIn(messages))
  }

  #count(known: Known, by: number): void {
    known.characters += by
    this.#grow(by)
  }
}
