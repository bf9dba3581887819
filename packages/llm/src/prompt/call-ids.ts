import { v5 as uuidOfName } from 'uuid'
import type { Message } from '../messages.ts'
import { originOf } from './hand-off.ts'
import type { ToPromptOptions } from './options.ts'
import { hasPart, isCall, mapParts } from './parts.ts'

/** The ids under which calls are sent, by the message's index, then by the call's place in its content. */
export type CallIds = readonly IdsOfMessage[]
export type IdsOfMessage = readonly (string | undefined)[]

const noIds: IdsOfMessage = []

/** What OpenAI's older interface takes; all others take more. */
const longestId = 40

/**
 * Gives every call that may be sent an id that its reader takes and that no other call has. Ids are given in the order
 * of the transcript, so that messages added later change none. Calls without id or name get none, nor do calls that
 * another provider ran.
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

/** Whether a call goes by another id than its own. The spelling of a mark is no other id. */
export function isRenamed(given: string, sent: string): boolean {
  return sent !== spelledOut(given)
}

/** The second of two equal ids was marked with `~2` when it came; some providers refuse this sign in any id. */
function spelledOut(id: string): string {
  if (!id.includes('~')) return id
  return id.replace(/(?:~\d+)+$/, (marks) => marks.replaceAll('~', '_'))
}

/** An id in the form that all providers take; those of the called provider stay as it gave them. */
function sendableId(given: string, sameProvider: boolean): string {
  const id = spelledOut(given.toWellFormed())
  if (sameProvider || /^[\w-]{1,40}$/.test(id)) return id
  // The UUID keeps ids apart that differ only in what was replaced.
  const unique = uuidOfName(id, uuidOfName.URL)
  return `${id.replace(/[^\w-]/g, '_').slice(0, longestId - unique.length - 1)}_${unique}`
}

class IdPool {
  readonly #taken = new Set<string>()
  /** The number to try next for a wanted id, so that a thousand equal ids need no million tries. */
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
