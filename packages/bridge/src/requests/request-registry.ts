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

/** A request that this process knows: it works on it, or follows it in another process. */
export interface ActiveRequest {
  readonly request: LiveRequest
  /** Record as last seen; undefined before acceptance. */
  stored: Stored<RequestRecord> | undefined
  place: Place | undefined
  work: PromptWork | undefined
  /** Answers recorded before a crash. It is unknown whether they reached the agent. */
  readonly unsure: Map<string, Answer>
  /** The agent may already be working on it, so an interruption must always reach the agent. */
  isResumed: boolean
  /** Whether another process works on it and this one only polls its record. */
  isElsewhere: boolean
  /** False if the agent was told to stop and did not. */
  settled: boolean
  /** Serialises the changes of its record. */
  writing: Promise<unknown>
}

export interface RequestCall extends RequestIdentity {
  readonly deadlineAt: number
  /** Whether the caller chose the id, so that an earlier call may exist. */
  readonly isRepeatable: boolean
  readonly abortSignal: AbortSignal | undefined
}

/** Keeps one record per request and owner, and the requests of this process. A repeated call joins the earlier one. */
export class RequestRegistry {
  readonly #core: Core
  readonly #table: RecordTable<RequestRecord>
  readonly #onOver: (forget: () => Promise<void>) => void
  readonly #live = new Map<string, ActiveRequest>()

  /** `onOver` is called for the record of each ended request, with a function that removes it. */
  constructor(core: Core, onOver: (forget: () => Promise<void>) => void) {
    this.#core = core
    this.#onOver = onOver
    this.#table = new RecordTable(core.store, 'bridge-request', (record) => (isEnded(record) ? core.retentionMs(record.durable) : 'never'))
  }

  entries(): readonly ActiveRequest[] {
    return [...this.#live.values()]
  }

  entry(key: Owned): ActiveRequest | undefined {
    return this.#live.get(mapKey(key))
  }

  /** Returns the entry of the request that this call repeats, if this process has it. Throws `PROTOCOL` if the payload differs. */
  attach(call: RequestCall): ActiveRequest | undefined {
    const entry = this.entry(keyOfCall(call))
    if (!entry) return undefined
    checkSamePayload(call, entry.request)
    if (call.abortSignal) entry.request.watch.follow(call.abortSignal)
    return entry
  }

  /** Adds an entry. From now on, repeated calls join it. */
  open(call: RequestCall): ActiveRequest {
    const { clock } = this.#core.settings
    const watch = watchRequest({ clock, deadlineAt: call.deadlineAt })
    if (call.abortSignal) watch.follow(call.abortSignal)
    const request = new LiveRequest(call, watch, clock)
    const entry: ActiveRequest = {
      request,
      stored: undefined,
      place: undefined,
      work: undefined,
      unsure: new Map(),
      isResumed: false,
      isElsewhere: false,
      settled: true,
      writing: Promise.resolve(),
    }
    this.#live.set(mapKey(keyOfCall(call)), entry)
    return entry
  }

  read(key: Owned): Promise<Stored<RequestRecord> | undefined> {
    return this.#table.read(key)
  }

  /** Yields the records of an owner. Loads one page at a time. */
  list(owner: string): AsyncGenerator<RequestRecord> {
    return this.#table.list(owner)
  }

  /** Returns false if the record exists already. */
  async insert(entry: ActiveRequest, record: RequestRecord): Promise<boolean> {
    entry.stored = await this.#table.insert(keyOfRecord(record), record)
    return entry.stored !== undefined
  }

  /** Removes the record of a call that was refused after its record was written. */
  async withdraw(entry: ActiveRequest): Promise<void> {
    if (entry.stored) await this.#table.remove(keyOfRecord(entry.stored.value))
    entry.stored = undefined
  }

  /** Changes the record; changes run one after the other. Resolves with whether the record changed. */
  change(entry: ActiveRequest, change: (record: RequestRecord) => RequestRecord | undefined): Promise<boolean> {
    const changing = entry.writing.then(() => this.#change(entry, change))
    entry.writing = changing.catch(() => {})
    return changing
  }

  async #change(entry: ActiveRequest, change: (record: RequestRecord) => RequestRecord | undefined): Promise<boolean> {
    const before = entry.stored
    if (!before) return false
    const result = await this.#table.change(keyOfRecord(before.value), before, change)
    if (!result) return false
    entry.stored = result.stored
    if (result.changed) this.#tell(result.stored.value, before.value.status)
    return result.changed
  }

  /** Records the end and returns the recorded result. If an end is recorded already, that one stays. Never rejects. */
  async recordEnd(entry: ActiveRequest, given: BridgeResult): Promise<BridgeResult> {
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

  /** Removes the entry. Later queries are answered from the record. */
  leave(entry: ActiveRequest, given: BridgeResult): void {
    const result = withEntryFacts(entry, given)
    this.#live.delete(mapKey({ owner: entry.request.owner, id: entry.request.ids.requestId }))
    entry.request.watch.dispose()
    entry.request.end(result)
  }

  /** A separate function: its closure is kept for up to a day and must not keep the outcome in memory. */
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

/** Throws `PROTOCOL` if one id was used for two different calls. */
export function checkSamePayload(call: RequestIdentity, earlier: Pick<RequestRecord, 'kind' | 'payloadHash'>): void {
  if (call.kind === earlier.kind && call.payloadHash === earlier.payloadHash) return
  const { requestId } = call.ids
  const details = { reason: 'id-reused', requestId }
  throw new BridgeError('PROTOCOL', `The request id ${requestId} was already used for another request`, { details })
}

/** Adds ids and `sessionValid` to a failure. The session of a delegation always ends with its request. */
function withEntryFacts({ request, stored }: ActiveRequest, result: BridgeResult): BridgeResult {
  if (result.ok) return result
  const { sessionId, agentId, requestId } = request.ids
  if (request.kind !== 'prompt') {
    return { ...result, error: withFacts(result.error, { ...(stored ? request.ids : { agentId }), endsSession: true }) }
  }
  // A refused prompt has no record and changed nothing in the session.
  if (!stored) return { ...result, error: withFacts(result.error, { sessionId, agentId, ...(agentId !== '' && { sessionValid: true }) }) }
  return { ...result, error: withFacts(result.error, { sessionId, agentId, requestId, sessionValid: isSessionValid(result.error) }) }
}

const harmlessCodes: readonly string[] = ['AUTH', 'CONFIG', 'CAPACITY']

/** Returns whether a session stays valid after the failure of its prompt. */
export function isSessionValid({ code, retryable, details }: BridgeError): boolean {
  return details.sessionValid ?? (retryable || harmlessCodes.includes(code))
}

function isInvalidValue(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code !== 'store-unavailable'
}

function notJson(agentId: string): BridgeResult {
  return {
    ok: false,
    error: new BridgeError('PROTOCOL', `Agent ${agentId} returned a result that is not JSON`, {
      details: { agentId, reason: 'bad-reply' },
    }),
  }
}
