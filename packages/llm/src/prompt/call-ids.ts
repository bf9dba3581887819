import { v5 as uuidOfName } from 'uuid'
import type { Message } from '../messages.ts'
import { originOf } from './hand-off.ts'
import type { ToPromptOptions } from './options.ts'
import { hasPart, isCall, mapParts } from './parts.ts'

/** Ids under which calls are sent, by message index, then by position in the content. */
export type CallIds = readonly IdsOfMessage[]
export type IdsOfMessage = readonly (string | undefined)[]

const noIds: IdsOfMessage = []

/** Limit of OpenAI's older interface; all others allow more. */
const longestId = 40

/**
 * Assigns every call to be sent a unique id that the provider accepts. Ids are assigned in transcript order, so messages added
 * later do not change them. Calls without id or name, and calls run by another provider, get none.
 */
export function callIdsOf(messages: readonly Message[], model: ToPromptOptions['model']): CallIds {
  const pool = new IdPool()
  return messages.map((message) => {
    if (message.role !== 'assistant') return noIds
    const isList: boolean = Array.isArray(message.content)
    if (!isList) throw new TypeError('the content of an answer must be a list of parts')
    if (!hasPart(message.content, isCall)) return noIds
    const origin = originOf(message, model)
    return mapParts(message.content, (part) => {
      if (!isCall(part) || !part.toolCallId || !part.toolName) return undefined
      if (part.providerExecuted && !origin.same) return undefined
      return pool.take(sendableId(part.toolCallId, origin.sameProvider))
    })
  })
}

/** Returns whether the sent id differs from the given one. A different spelling of the duplicate mark does not count. */
export function isRenamed(given: string, sent: string): boolean {
  return sent !== spelledOut(given)
}

/** Duplicate ids were marked with `~2` on arrival. Some providers reject this character, so it is replaced. */
function spelledOut(id: string): string {
  if (!id.includes('~')) return id
  return id.replace(/(?:~\d+)+$/, (marks) => marks.replaceAll('~', '_'))
}

/** Returns an id that all providers accept. Ids of the called provider itself are kept. */
function sendableId(given: string, sameProvider: boolean): string {
  const id = spelledOut(given.toWellFormed())
  if (sameProvider || /^[\w-]{1,40}$/.test(id)) return id
  // The UUID distinguishes ids that differ only in replaced characters.
  const unique = uuidOfName(id, uuidOfName.URL)
  return `${id.replace(/[^\w-]/g, '_').slice(0, longestId - unique.length - 1)}_${unique}`
}

class IdPool {
  readonly #taken = new Set<string>()
  /** Next number to try for each wanted id, so that many equal ids do not take quadratic time. */
  readonly #next = new Map<string, number>()

  take(wanted: string): string {
    if (!this.#taken.has(wanted)) {
      this.#taken.add(wanted)
      return wanted
    }
    let id = wanted
    for (let n = this.#next.get(wanted) ?? 2; this.#taken.has(id); n++) {
      const suffix = `_${n}`
      id = `${wanted.slice(0, longestId - suffix.length)}${suffix}`
      this.#next.set(wanted, n + 1)
    }
    this.#taken.add(id)
    return id
  }
}
