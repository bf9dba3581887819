import type { Compaction, StoredMessage } from '@bowline/agent-loop'
import type { CallKey, NewEntry } from '../contract/batch.ts'
import type { EntryRecord } from '../contract/records.ts'

/** End of the active path, as changed by the records of one commit. */
export class PathDraft {
  /** Entries of the commit, in order. */
  readonly entries: NewEntry[] = []
  #leaf: string | null
  #moved = false
  readonly #runId: string
  /** Known part of the path, oldest first. */
  readonly #line: NewEntry[]
  readonly #nextId: () => string

  /** `tail` holds the stored entries that the commit may withdraw, newest first, without gaps from the leaf on. */
  constructor(leaf: string | null, runId: string, tail: readonly EntryRecord[], nextId: () => string) {
    this.#leaf = leaf
    this.#runId = runId
    this.#line = tail.map(({ n: _n, ...entry }) => entry).reverse()
    this.#nextId = nextId
  }

  get leaf(): string | null {
    return this.#leaf
  }

  /** True if the leaf is not the last entry of the commit. */
  get movesLeaf(): boolean {
    return this.#moved && this.entries.at(-1)?.id !== this.#leaf
  }

  /** Appends a message. A tool result refers to its ledger row. */
  append(message: StoredMessage, call?: CallKey): void {
    const node = { id: message.id, parentId: this.#leaf, at: message.at ?? 0, runId: this.#runId }
    this.#add(call ? { ...node, type: 'message', call } : { ...node, type: 'message', message })
  }

  compact(compaction: Compaction, at: number): void {
    this.#add({ id: compaction.compactionId, parentId: this.#leaf, at, runId: this.#runId, type: 'compaction', compaction })
  }

  /** Moves the path back to before the first of these messages. Appends the later ones that stay again. */
  withdraw(messageIds: readonly string[]): void {
    const gone = new Set(messageIds)
    const first = this.#line.findIndex((entry) => gone.has(messageIdOf(entry)))
    const oldest = this.#line[first]
    if (!oldest) return
    const kept = this.#line.splice(first).filter((entry) => !gone.has(messageIdOf(entry)))
    this.#leaf = oldest.parentId
    this.#moved = true
    for (const entry of kept) this.#add({ ...entry, id: this.#nextId(), parentId: this.#leaf })
  }

  #add(entry: NewEntry): void {
    this.entries.push(entry)
    this.#line.push(entry)
    this.#leaf = entry.id
  }
}

function messageIdOf(entry: NewEntry): string {
  return 'message' in entry ? entry.message.id : entry.id
}
