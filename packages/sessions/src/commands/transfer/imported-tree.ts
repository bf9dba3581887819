import type { StoredMessage, ToolResult } from '@bowline/agent-loop'
import { repairTranscript } from '@bowline/agent-loop/repair'
import type { AssistantMessage } from '@bowline/llm'
import type { SessionError } from '../../errors.ts'
import type { NewEntry } from '../../contract/batch.ts'
import { clientCallIds } from '../tree/open-calls.ts'
import { isRight, refuse, type ImportedEntry } from './read-line.ts'

/** Calls of an answer that have no result on the path to an entry. */
interface OpenCalls {
  readonly answer: AssistantMessage
  readonly results: readonly ToolResult[]
  /** Ids of the open calls, in order. */
  readonly left: readonly string[]
}

interface Place {
  readonly parentId: string | null
  readonly messageId: string | undefined
  readonly isResult: boolean
  readonly open: OpenCalls | undefined
}

interface TreeOptions {
  /** If true, calls without a result get a result that says so. */
  readonly repair: boolean
  readonly nextId: () => string
}

/**
 * Checks the entries of a file one by one. Each must have an earlier entry as its parent, which excludes circles and cut branches,
 * and each call must have its result. Keeps only the places of earlier entries.
 */
export class ImportedTree {
  readonly #options: TreeOptions
  readonly #places = new Map<string, Place>()
  /** Entries with open calls that no later entry continues yet. */
  readonly #openEnds = new Set<string>()
  /** By the id of an entry with open calls: the last result that was added after it. */
  readonly #settled = new Map<string, string>()

  constructor(options: TreeOptions) {
    this.#options = options
  }

  /** Returns the entry for storage, after the missing results that precede it. */
  take(entry: ImportedEntry, line: number): readonly NewEntry[] {
    const { id, parentId } = entry
    if (this.#places.has(id)) throw refuse(line, `the id ${id} is used twice`)
    const open = this.#parentOf(entry, line)?.open
    this.#checkReferences(entry, line)
    if (goesOnWithCalls(entry)) return [this.#place(entry, parentId, openBehind(entry, open, line))]
    if (!open || parentId === null) return [this.#place(entry, parentId, openBehind(entry, undefined, line))]
    const missing = this.#settle(parentId, open, entry.at, line)
    return [...missing, this.#place(entry, this.#settled.get(parentId) ?? parentId, openBehind(entry, undefined, line))]
  }

  /** Returns the results that are missing after the last entry, and the end of the active path. */
  end(leaf: string | null, line: number): { readonly entries: readonly NewEntry[]; readonly leaf: string | null } {
    if (leaf !== null && !this.#places.has(leaf)) throw refuse(1, `the leaf ${leaf} is not an entry of the file`)
    const entries: NewEntry[] = []
    const ends = new Set(this.#openEnds)
    if (leaf !== null && this.#places.get(leaf)?.open) ends.add(leaf)
    for (const id of ends) {
      const open = this.#places.get(id)?.open
      if (open) entries.push(...this.#settle(id, open, open.answer.at ?? 0, line))
    }
    return { entries, leaf: leaf === null ? null : (this.#settled.get(leaf) ?? leaf) }
  }

  #parentOf({ id, parentId }: ImportedEntry, line: number): Place | undefined {
    if (parentId === null) return undefined
    const parent = this.#places.get(parentId)
    if (parent) return parent
    const why = parentId === id ? 'is the entry itself' : 'does not come before it: it is missing, or the entries form a cycle'
    throw refuse(line, `the parent ${parentId} of the entry ${id} ${why}`)
  }

  /** Throws if an entry refers to one that is not on its own path. */
  #checkReferences(entry: ImportedEntry, line: number): void {
    if (entry.type === 'label') {
      const { entryId } = entry.label
      if (!this.#onPath(entry.parentId, (id) => id === entryId)) throw refuse(line, `it labels ${entryId}, which is not on its path`)
    }
    if (entry.type === 'compaction' && entry.compaction.firstKeptMessageId !== '') {
      const { firstKeptMessageId: kept } = entry.compaction
      const isKept = (id: string, { messageId, isResult }: Place): boolean => !isResult && (messageId ?? id) === kept
      if (!this.#onPath(entry.parentId, isKept))
        throw refuse(line, `its firstKeptMessageId ${kept} is not a message at which its path can be cut`)
    }
  }

  #onPath(from: string | null, isIt: (id: string, place: Place) => boolean): boolean {
    for (let id = from; id !== null;) {
      const place = this.#places.get(id)
      if (!place) return false
      if (isIt(id, place)) return true
      id = place.parentId
    }
    return false
  }

  #place(entry: ImportedEntry, parentId: string | null, open: OpenCalls | undefined): NewEntry {
    const message = entry.type === 'message' ? entry.message : undefined
    this.#places.set(entry.id, { parentId, messageId: message?.id, isResult: message?.role === 'tool-result', open })
    if (entry.parentId !== null) this.#openEnds.delete(entry.parentId)
    if (open) this.#openEnds.add(entry.id)
    return { ...entry, parentId }
  }

  /** Adds results for the calls that are open at this entry, once for all its children. */
  #settle(at: string, open: OpenCalls, time: number, line: number): readonly NewEntry[] {
    if (!this.#options.repair) throw openCalls(line, open.left)
    if (this.#settled.has(at)) return []
    let parentId = at
    const entries = missingResults(open).map((result): NewEntry => {
      const id = this.#options.nextId()
      const entry = { id, parentId, at: time, type: 'message', message: { ...result, id } } as const
      this.#places.set(id, { parentId, messageId: id, isResult: true, open: undefined })
      parentId = id
      return entry
    })
    this.#settled.set(at, parentId)
    this.#openEnds.delete(at)
    return entries
  }
}

/** True for entries that may come between a call and its result. */
function goesOnWithCalls(entry: ImportedEntry): boolean {
  return entry.type === 'custom' || entry.type === 'label' || (entry.type === 'message' && entry.message.role === 'tool-result')
}

function openBehind(entry: ImportedEntry, open: OpenCalls | undefined, line: number): OpenCalls | undefined {
  if (entry.type !== 'message') return open
  const { message } = entry
  if (message.role === 'user') return undefined
  if (message.role === 'assistant') {
    const left = clientCallIds(message)
    return left.length > 0 ? { answer: message, results: [], left } : undefined
  }
  const [next, ...left] = open?.left ?? []
  if (!open || next !== message.toolCallId) throw refuse(line, `the result of ${message.toolCallId} does not follow its call`)
  if (!isRight([open.answer, message]))
    throw refuse(line, `the result of ${message.toolCallId} does not match its call, or a field is missing`)
  return left.length > 0 ? { ...open, results: [...open.results, message], left } : undefined
}

function missingResults({ answer, results, left }: OpenCalls): readonly ToolResult[] {
  const { messages } = repairTranscript([answer, ...results])
  return (messages as readonly StoredMessage[]).flatMap((message) =>
    message.role === 'tool-result' && left.includes(message.toolCallId) ? message : [],
  )
}

function openCalls(line: number, left: readonly string[]): SessionError {
  return refuse(line, `the calls ${left.join(', ')} have no result; import with \`repair\` to set their outcomes to unknown`)
}
