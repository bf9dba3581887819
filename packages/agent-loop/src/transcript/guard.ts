import type { AssistantMessage, ToolCallPart } from '@bowline/llm'
import { AgentError } from '../base/agent-error.ts'
import { clientCalls, neverRan } from '../base/messages.ts'
import type { StoredMessage } from '../contract/journal.ts'

/**
 * Checks the invariants of a transcript: ids are unique, each call has exactly one result, results follow their answer directly and
 * in call order, and nothing follows an answer with open calls. The work per message does not depend on the length of the
 * transcript, nor the work per result on the number of calls.
 */
export class TranscriptGuard {
  readonly #messageIds = new Set<string>()
  readonly #callIds = new FreeIds()
  #calls: readonly ToolCallPart[] = []
  /** Index of the first call of the latest answer that has no result. */
  #next = 0
  /** True if the latest answer failed, was stopped or was cut off. */
  #broken = false

  /** The calls of the latest answer that have no result yet. */
  get openCalls(): readonly string[] {
    return this.#calls.slice(this.#next).map((call) => call.toolCallId)
  }

  /** Returns an id that no call of the conversation has had: the given one, or a copy of it (`<id>~2`). */
  freeCallId(given: string, alsoTaken?: (id: string) => boolean): string {
    return this.#callIds.freeFor(given, alsoTaken)
  }

  hasMessage(id: string): boolean {
    return this.#messageIds.has(id)
  }

  /** Adds the next message. If it may not follow, throws `invalid-transcript` that names the ids, and changes nothing. */
  append(message: StoredMessage): void {
    this.#checkId(message)
    if (message.role === 'tool-result') {
      this.#takeResult(message)
    } else {
      if (this.#next < this.#calls.length) throw invalid(`${message.role} message ${message.id} follows ${this.#openList()}`)
      if (message.role === 'assistant') this.#takeAnswer(message)
    }
    this.#messageIds.add(message.id)
  }

  /** Throws `invalid-transcript` that names the open calls, if there are any. */
  checkEnd(): void {
    if (this.#next < this.#calls.length) throw invalid(`the transcript ends with ${this.#openList()}`)
  }

  #checkId(message: StoredMessage): void {
    if (message.id === '') throw invalid(`a ${message.role} message has an empty id`)
    if (this.#messageIds.has(message.id)) throw invalid(`the message id ${message.id} is used twice`)
  }

  #takeAnswer(answer: AssistantMessage): void {
    const calls = clientCalls(answer)
    const ids = new Set<string>()
    for (const { toolCallId, invalid: broken, inputText } of calls) {
      if (toolCallId === '') throw invalid(`message ${answer.id} has a call with an empty id`)
      if (this.#callIds.has(toolCallId) || ids.has(toolCallId)) throw invalid(`the call id ${toolCallId} is used twice`)
      if (inputText !== undefined && !broken) throw invalid(`the call ${toolCallId} has raw arguments and is not marked invalid`)
      ids.add(toolCallId)
    }
    for (const id of ids) this.#callIds.add(id)
    this.#calls = calls
    this.#next = 0
    this.#broken = neverRan(answer)
  }

  #takeResult({ toolCallId, toolName, status }: Extract<StoredMessage, { role: 'tool-result' }>): void {
    const next = this.#calls[this.#next]
    if (next?.toolCallId !== toolCallId) throw invalid(`the result of ${toolCallId} ${this.#misplaced(toolCallId)}`)
    if (next.toolName !== toolName) throw invalid(`the result of ${toolCallId} names ${toolName}, not ${next.toolName}`)
    if (this.#broken && status === 'result')
      throw invalid(`the call ${toolCallId} has a result, but its answer failed, was stopped or was cut off`)
    this.#next++
  }

  #misplaced(toolCallId: string): string {
    const open = this.openCalls
    if (open.includes(toolCallId)) return `comes before that of ${open[0] ?? ''}`
    return this.#callIds.has(toolCallId) ? 'repeats an earlier result' : 'belongs to no call'
  }

  #openList(): string {
    const { openCalls } = this
    return `${openCalls.length === 1 ? 'the open call' : 'the open calls'} ${openCalls.join(', ')}`
  }
}

function invalid(message: string): AgentError {
  return new AgentError('invalid-transcript', message)
}

/** Knows the used ids, and finds unused ones. */
class FreeIds {
  readonly #taken = new Set<string>()
  /** Number of the next copy to try for a wanted id, so that a thousand equal ids need no million tries. */
  readonly #next = new Map<string, number>()

  has(id: string): boolean {
    return this.#taken.has(id)
  }

  add(id: string): void {
    this.#taken.add(id)
  }

  /** Returns the wanted id if it is unused, else the first unused one of `<id>~2`, `<id>~3` …. Does not mark it as used. */
  freeFor(wanted: string, alsoTaken: (id: string) => boolean = () => false): string {
    if (!this.#taken.has(wanted) && !alsoTaken(wanted)) return wanted
    let copy = this.#next.get(wanted) ?? 2
    while (this.#taken.has(`${wanted}~${copy}`)) copy++
    this.#next.set(wanted, copy)
    while (this.#taken.has(`${wanted}~${copy}`) || alsoTaken(`${wanted}~${copy}`)) copy++
    return `${wanted}~${copy}`
  }
}

/**
 * Returns a function that gives each of many entries a unique id, in their order. The first entry with an id keeps it, and no new
 * id equals that of a later entry. `fallback` is for entries without an id.
 */
export function idGiver(given: Iterable<unknown>): (id: unknown, fallback: string) => string {
  const kept = new Set(given)
  const free = new FreeIds()
  return (id, fallback) => {
    const own = typeof id === 'string' && id !== '' && !free.has(id)
    const base = typeof id === 'string' && id !== '' ? id : fallback
    const chosen = own ? id : free.freeFor(base, (other) => kept.has(other))
    free.add(chosen)
    return chosen
  }
}
