import type { ExtensionContext, SentModelRequest } from '@bowline/agent-loop'
import type { JSONObject, JSONValue, SentRequest } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import type { StateStore, TimeToLive } from '../contract/state-store.ts'
import { readAll } from '../contract/paging.ts'
import { partsOf, plain } from './plain-request.ts'
import type { RequestSummary } from './types.ts'

/**
 * A request as stored. `base` is the number of an earlier request, with which this one shares the first `shared` messages and,
 * unless given here, tools and settings. Without a base, the request is whole.
 */
export interface RequestRow extends RequestSummary {
  readonly base?: number
  /** Id of the base: after the session was deleted, another request may have its number. */
  readonly baseId?: string
  readonly shared: number
  readonly messages: readonly JSONObject[]
  readonly tools?: readonly JSONObject[]
  readonly settings?: JSONObject
  readonly omitted?: true
}

export interface RequestLogOptions {
  readonly store: StateStore
  readonly space: string
  readonly maxRequests: number
  readonly maxBytes: number
  readonly ttlMs: TimeToLive
  readonly redact: (message: JSONObject) => JSONObject
}

/** The last request, with which the next one is compared. */
interface Last {
  readonly prompt: SentRequest['prompt']
  readonly tools: string
  readonly settings: string
}

type Place = Pick<ExtensionContext, 'runId' | 'turn' | 'step'>

/** Requests of a session that this process knows to be stored. */
interface Known {
  /** Oldest first. */
  rows: { readonly n: number; readonly at: number; readonly bytes: number; readonly isWhole: boolean }[]
  next: number
  /** The newest request that this process has written, and its run. */
  newest?: Pick<RequestSummary, 'id' | 'runId'>
  last?: Last
}

/** Ids sort so that a store lists the newest first. */
const highest = 999_999_999
export const prefixOf = (key: string): string => `${key}#`
const idOf = (key: string, n: number): string => `${prefixOf(key)}${String(highest - n).padStart(9, '0')}`
export const numberOf = (key: string, id: string): number => highest - Number(id.slice(prefixOf(key).length))

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Writes the requests of one session, one after the other. */
export class RequestLog {
  readonly #key: string
  readonly #options: RequestLogOptions
  #known: Known | undefined
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(key: string, options: RequestLogOptions) {
    this.#key = key
    this.#options = options
  }

  /** Rejects if too many requests wait because the store does not answer. */
  add(sent: SentModelRequest, context: Place, at: number): Promise<void> {
    if (this.#waiting >= mostWaiting)
      return Promise.reject(
        new SessionError(
          'queue-full',
          `The limit of ${mostWaiting} requests of the session ${this.#key} that are not yet recorded is reached. The store is too slow.`,
        ),
      )
    this.#waiting++
    const added = this.#last.then(() => this.#add(sent, context, at)).finally(() => this.#waiting--)
    this.#last = added.catch(() => undefined)
    return added
  }

  async #add(sent: SentModelRequest, context: Place, at: number): Promise<void> {
    try {
      if ((await this.#write(sent, context, at)) || (await this.#write(sent, context, at))) return
      throw new SessionError('conflict', `Two processes record requests of the session ${this.#key} at the same time.`)
    } catch (error) {
      // The stored content is no longer known.
      this.#known = undefined
      throw error
    }
  }

  /** Returns false if another process has written under the number. */
  async #write(sent: SentModelRequest, context: Place, at: number): Promise<boolean> {
    const { store, space, ttlMs } = this.#options
    const known = (this.#known = await this.#current(context.runId))
    const { prompt, tools, settings } = partsOf(sent.request)
    const last: Last = { prompt, tools: JSON.stringify(tools), settings: JSON.stringify(settings) }
    const sharedCount = known.last ? sharedOf(known.last.prompt, prompt) : 0
    const { id, purpose, attempt, model } = sent
    const { runId, turn, step } = context
    const summary: RequestSummary = {
      id,
      purpose,
      runId,
      turn,
      step,
      attempt,
      at,
      model: { ...model },
      messageCount: prompt.length,
      sharedCount,
      toolCount: tools.length,
    }
    const row = this.#rowOf(summary, known, { last, tools, settings })
    const n = known.next
    const result = await store.compareAndSet(space, idOf(this.#key, n), null, row as unknown as JSONValue, { ttlMs })
    if (!result.ok) {
      this.#known = undefined
      return false
    }
    const rows = [...known.rows, { n, at, bytes: bytesOf(row), isWhole: row.base === undefined }]
    // An omitted request has no messages to compare with.
    this.#known = { next: n + 1, rows, newest: { id, runId }, ...(!row.omitted && { last }) }
    await this.#evict(this.#known)
    return true
  }

  /**
   * Returns the stored requests. Each process reads them once, and again if its newest request is gone: other processes delete the
   * newest of a chain first, and after a deletion of the session the number may belong to another request.
   */
  async #current(runId: string): Promise<Known> {
    const { store, space } = this.#options
    const known = this.#known
    if (known?.newest) {
      if (runId !== '' && known.newest.runId === runId) return known
      const read = await store.get(space, idOf(this.#key, known.next - 1))
      if (read.status === 'found' && (read.value.value as unknown as RequestRow).id === known.newest.id) return known
    }
    const found = await readAll((page) => store.list(space, { ...page, prefix: prefixOf(this.#key) }))
    const rows = found
      .map(({ id, value }) => {
        const { at, base } = value as unknown as RequestRow
        return { n: numberOf(this.#key, id), at, bytes: bytesOf(value), isWhole: base === undefined }
      })
      .reverse()
    return { rows, next: (rows.at(-1)?.n ?? 0) + 1 }
  }

  /**
   * Returns the difference to the previous request, unless the chain would then cost more than a whole request. So all whole
   * requests together cost no more than their differences, and the oldest chain can be deleted.
   */
  #rowOf(
    summary: RequestSummary,
    known: Known,
    { last, tools, settings }: { readonly last: Last; readonly tools: readonly JSONObject[]; readonly settings: JSONObject },
  ): RequestRow {
    const { maxBytes, maxRequests, ttlMs, redact } = this.#options
    const messages = (from: number): JSONObject[] => last.prompt.slice(from).map((message) => redact(plain(message) as JSONObject))
    const before = known.last
    const chain = known.rows.slice(known.rows.findLastIndex(({ isWhole }) => isWhole))
    const [whole, ...others] = chain
    const isYoung = whole && (ttlMs === 'never' || summary.at - whole.at < ttlMs / 2)
    if (before && isYoung && chain.length < maxRequests / 2) {
      const row: RequestRow = {
        ...summary,
        base: known.next - 1,
        baseId: known.newest?.id ?? '',
        shared: summary.sharedCount,
        messages: messages(summary.sharedCount),
        ...(before.tools !== last.tools && { tools }),
        ...(before.settings !== last.settings && { settings }),
      }
      const added = sum(others) + bytesOf(row)
      if (added <= Math.max(whole.bytes, leastChain) && whole.bytes + added <= maxBytes / 2) return row
    }
    const row: RequestRow = { ...summary, shared: 0, messages: messages(0), tools, settings }
    return bytesOf(row) <= maxBytes / 2 ? row : { ...summary, shared: 0, messages: [], tools: [], settings: {}, omitted: true }
  }

  /** Deletes the oldest chain, its whole request last, so that the remains after a crash can be read. */
  async #evict(known: Known): Promise<void> {
    const { store, space, maxBytes, maxRequests } = this.#options
    while (known.rows.length > maxRequests || sum(known.rows) > maxBytes) {
      const end = known.rows.findIndex(({ isWhole }, place) => place > 0 && isWhole)
      if (end < 1) return
      for (const { n } of known.rows.slice(0, end).reverse()) await store.delete(space, idOf(this.#key, n))
      known.rows = known.rows.slice(end)
    }
  }
}

const leastChain = 16 * 1_024
const mostWaiting = 10

function sum(rows: readonly { readonly bytes: number }[]): number {
  return rows.reduce((total, { bytes }) => total + bytes, 0)
}

/** Counts the equal leading messages. A message that an earlier call has sent is the same object. */
function sharedOf(before: SentRequest['prompt'], now: SentRequest['prompt']): number {
  let count = 0
  while (count < before.length && count < now.length && isSame(before[count], now[count])) count++
  return count
}

function isSame(before: unknown, now: unknown): boolean {
  return before === now || JSON.stringify(before) === JSON.stringify(now)
}
