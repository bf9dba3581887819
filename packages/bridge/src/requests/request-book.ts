import type { Answer } from '../agent.ts'
import type { Core } from '../core.ts'
import { BridgeError } from '../errors.ts'
import { withFacts } from '../error-body.ts'
import { mapKey, RecordTable } from '../records/record-table.ts'
import type { Owned, Stored } from '../records/record-table.ts'
import type { BridgeResult } from '../bridge-contract.ts'
import type { Place } from './claim.ts'
import { LiveRequest } from './live-request.ts'
import type { RequestIdentity } from './live-request.ts'
import type { PromptWork } from './prompt-work.ts'
import { idsOf, isEnded, resultOf, withResult } from './request-record.ts'
import type { RequestRecord } from './request-record.ts'
import { watchRequest } from './watch.ts'

/** A request that this process is at. */
export interface BookEntry {
  readonly request: LiveRequest
  /** As it was seen last; undefined before it is accepted. */
  stored: Stored<RequestRecord> | undefined
  place: Place | undefined
  work: PromptWork | undefined
  /** Answers that were recorded before a crash, and of which nobody knows whether they reached the agent. */
  readonly unsure: Map<string, Answer>
  /** The agent may be at it already: whatever interrupts the request must reach it. */
  isResumed: boolean
  /** Another process works on it, and this one only watches its record. */
  isElsewhere: boolean
  /** False: its agent was told to stop and did not. */
  settled: boolean
  /** The changes of its record, one after the other. */
  writing: Promise<unknown>
}

export interface RequestCall extends RequestIdentity {
  readonly deadlineAt: number
  /** The caller named it, so that there may be an earlier one. */
  readonly isRepeatable: boolean
  readonly abortSignal: AbortSignal | undefined
}

/** One record per request and owner, and what this process is at: a repeat joins what it repeats. */
export class RequestBook {
  readonly #core: Core
  readonly #table: RecordTable<RequestRecord>
  readonly #onOver: (forget: () => Promise<void>) => void
  readonly #live = new Map<string, BookEntry>()

  /** `onOver` is told of each record of a request that has ended. */
  constructor(core: Core, onOver: (forget: () => Promise<void>) => void) {
    this.#core = core
    this.#onOver = onOver
    this.#table = new RecordTable(core.store, 'bridge-request', (record) => (isEnded(record) ? core.retentionMs(record.durable) : 'never'))
  }

  entries(): readonly BookEntry[] {
    return [...this.#live.values()]
  }

  entry(key: Owned): BookEntry | undefined {
    return this.#live.get(mapKey(key))
  }

  /** The request that this call repeats, if this process is at it. Throws `PROTOCOL` when the payload is another. */
  join(call: RequestCall): BookEntry | undefined {
    const entry = this.entry(keyOfCall(call))
    if (!entry) return undefined
    checkSamePayload(call, entry.request)
    if (call.abortSignal) entry.request.watch.follow(call.abortSignal)
    return entry
  }

  /** From now on repeats join this one. */
  open(call: RequestCall): BookEntry {
    const { clock } = this.#core.settings
    const watch = watchRequest({ clock, deadlineAt: call.deadlineAt })
    if (call.abortSignal) watch.follow(call.abortSignal)
    const request = new LiveRequest(call, watch, clock)
    const entry: BookEntry = { request, stored: undefined, place: undefined, work: undefined, unsure: new Map(), isResumed: false, isElsewhere: false, settled: true, writing: Promise.resolve() }
    this.#live.set(mapKey(keyOfCall(call)), entry)
    return entry
  }

  read(key: Owned): Promise<Stored<RequestRecord> | undefined> {
    return this.#table.read(key)
  }

  /** The records of an owner, a page of them in memory at a time. */
  list(owner: string): AsyncGenerator<RequestRecord> {
    return this.#table.list(owner)
  }

  /** False: there is one already. */
  async insert(entry: BookEntry, record: RequestRecord): Promise<boolean> {
    entry.stored = await this.#table.insert(keyOfRecord(record), record)
    return entry.stored !== undefined
  }

  /** The call was refused after its record was written. */
  async withdraw(entry: BookEntry): Promise<void> {
    if (entry.stored) await this.#table.remove(keyOfRecord(entry.stored.value))
    entry.stored = undefined
  }

  /** One change after the other. Gives whether it changed. */
  change(entry: BookEntry, change: (record: RequestRecord) => RequestRecord | undefined): Promise<boolean> {
    const changing = entry.writing.then(() => this.#change(entry, change))
    entry.writing = changing.catch(() => {})
    return changing
  }

  async #change(entry: BookEntry, change: (record: RequestRecord) => RequestRecord | undefined): Promise<boolean> {
    const before = entry.stored
    if (!before) return false
    const result = await this.#table.change(keyOfRecord(before.value), before, change)
    if (!result) return false
    entry.stored = result.stored
    if (result.changed) this.#tell(result.stored.value, before.value.status)
    return result.changed
  }

  /** Records the end, unless one is recorded: the first stays, and is given. Never rejects. */
  async recordEnd(entry: BookEntry, given: BridgeResult): Promise<BridgeResult> {
    const result = withEntryFacts(entry, given)
    try {
      const ended = await this.change(entry, (record) => withResult(record, result))
      const record = entry.stored?.value
      if (!ended) return record ? resultOf(record) : result
      if (record) this.#keepFor(keyOfRecord(record))
      return result
    } catch (error) {
      const cannotBeStored = result.ok && isInvalidValue(error)
      this.#core.settings.logger.error({ ...entry.request.ids, cause: error }, 'the end of the request was not recorded')
      return cannotBeStored ? this.recordEnd(entry, notJson(result.agentId)) : result
    }
  }

  /** Lets go of it: whoever asks from now on is told by the record. */
  leave(entry: BookEntry, given: BridgeResult): void {
    const result = withEntryFacts(entry, given)
    this.#live.delete(mapKey({ owner: entry.request.owner, id: entry.request.ids.requestId }))
    entry.request.watch.dispose()
    entry.request.end(result)
  }

  /** A closure of its own: what is kept for a day must not keep the outcome in memory. */
  #keepFor(key: Owned): void {
    this.#onOver(() => this.#table.remove(key))
  }

  #tell(record: RequestRecord, from: string): void {
    const { owner, status, error } = record
    this.#core.observer.notify({ type: 'request-changed', ...idsOf(record), owner, from, to: status, ...(error && { reason: error.code }) })
  }
}

function keyOfRecord({ owner, requestId }: RequestRecord): Owned {
  return { owner, id: requestId }
}

export function keyOfCall({ owner, ids }: RequestIdentity): Owned {
  return { owner, id: ids.requestId }
}

/** Throws `PROTOCOL` when one id was used for two different calls. */
export function checkSamePayload(call: RequestIdentity, earlier: Pick<RequestRecord, 'kind' | 'payloadHash'>): void {
  if (call.kind === earlier.kind && call.payloadHash === earlier.payloadHash) return
  const { requestId } = call.ids
  const details = { reason: 'id-reused', requestId }
  throw new BridgeError('PROTOCOL', `The request id ${requestId} was used for another request`, { details })
}

/** A failure names what it is about. The session of a delegation is closed by the end of its request. */
function withEntryFacts({ request, stored }: BookEntry, result: BridgeResult): BridgeResult {
  if (result.ok) return result
  const { sessionId, agentId, requestId } = request.ids
  if (request.kind !== 'prompt') {
    return { ...result, error: withFacts(result.error, { ...(stored ? request.ids : { agentId }), endsSession: true }) }
  }
  // A refused prompt has no record, and changed nothing in a session that was found free.
  if (!stored) return { ...result, error: withFacts(result.error, { sessionId, agentId, ...(agentId !== '' && { sessionValid: true }) }) }
  return { ...result, error: withFacts(result.error, { sessionId, agentId, requestId, sessionValid: isSessionValid(result.error) }) }
}

const harmlessCodes: readonly string[] = ['AUTH', 'CONFIG', 'CAPACITY']

/** Whether a session goes on after the failure of its prompt. */
export function isSessionValid({ code, retryable, details }: BridgeError): boolean {
  return details.sessionValid ?? (retryable || harmlessCodes.includes(code))
}

function isInvalidValue(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code !== 'store-unavailable'
}

function notJson(agentId: string): BridgeResult {
  return { ok: false, error: new BridgeError('PROTOCOL', `Agent ${agentId} gave a result that is not JSON`, { details: { agentId, reason: 'bad-reply' } }) }
}
