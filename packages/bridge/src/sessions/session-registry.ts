import type { CloseReason, SessionContext } from '../agent.ts'
import type { AgentDirectory, FoundAgent } from '../agent-directory.ts'
import type { Core } from '../core.ts'
import { BridgeError } from '../errors.ts'
import type { BridgeExecutor } from '../executors/executor.ts'
import { mapKey, RecordTable } from '../records/record-table.ts'
import type { Change, Owned, Stored } from '../records/record-table.ts'
import { settlesWithin } from '../settles-within.ts'
import { inSession } from '../context.ts'
import type { LiveSession } from './live-session.ts'
import { elsewhere, missingSession, overSession } from './session-errors.ts'
import { asFailed, asOver, contextOf, isExpired, newSessionRecord, withoutPrompt, withPrompt } from './session-record.ts'
import type { PromptEnd, SessionEnd, SessionRecord } from './session-record.ts'
import { Slots } from './slots.ts'
import { UnattachedSessions } from './unattached-sessions.ts'

const hookMs = 10_000

export interface OpenSession {
  readonly context: SessionContext
  readonly found: FoundAgent
  readonly releaseSlot: () => void
  /** Request for which it is opened and which runs in it from the start. */
  readonly requestId?: string
}

/** All sessions: their records, and those that this process holds open with their executors. */
export class SessionRegistry {
  readonly slots: Slots
  /** Called when sessions were added or removed. */
  onLiveChange = (): void => {}
  readonly #core: Core
  readonly #directory: AgentDirectory
  readonly #table: RecordTable<SessionRecord>
  readonly #onOver: (forget: () => Promise<void>) => void
  readonly #live = new Map<string, LiveSession>()
  readonly #attaching = new Map<string, Promise<LiveSession>>()
  /** Sessions whose record is being inserted. */
  readonly #inserting = new Set<string>()
  readonly #unattached: UnattachedSessions

  /** `onOver` is called for the record of each ended session, with a function that removes it. */
  constructor(core: Core, directory: AgentDirectory, onOver: (forget: () => Promise<void>) => void) {
    this.#core = core
    this.#directory = directory
    this.#onOver = onOver
    this.slots = new Slots(core.ownerLimits)
    this.#unattached = new UnattachedSessions({
      list: (owner) => this.list(owner),
      isAttached: (record) => this.#live.has(mapKey(keyOf(record))) || this.#attaching.has(mapKey(keyOf(record))),
    })
    this.#table = new RecordTable(core.store, 'bridge-session', ({ status, durable }) =>
      status === 'over' ? core.retentionMs(durable) : 'never',
    )
  }

  live(): readonly LiveSession[] {
    return [...this.#live.values()]
  }

  /**
   * Takes a slot and returns a function that frees it. Throws `CAPACITY`, but only after it has ended what has expired. Durable
   * sessions that an earlier process left in the store count for their owner.
   */
  async takeSlot(executor: BridgeExecutor, owner: string): Promise<() => void> {
    try {
      return await this.#takeSlot(executor, owner)
    } catch (error) {
      if (!(await this.expireDue((live) => live.found.executor === executor))) throw error
      return this.#takeSlot(executor, owner)
    }
  }

  async #takeSlot(executor: BridgeExecutor, owner: string): Promise<() => void> {
    if (!this.#core.processes.isShared || !this.slots.isLimited(executor, owner)) return this.slots.take(executor, owner)
    const isCounted = (agentId: string): boolean => this.#directory.executorOf(agentId) === executor
    const known = await this.#unattached.count(owner, isCounted)
    if (known === 0 || !this.slots.isOwnerFull(executor, owner, known)) return this.slots.take(executor, owner, known)
    this.#unattached.forget(owner)
    return this.slots.take(executor, owner, await this.#unattached.count(owner, isCounted))
  }

  /** Opens a session. Rejects with the error of the agent's hook; then nothing remains. */
  async open({ context, found: wanted, releaseSlot, requestId }: OpenSession): Promise<LiveSession> {
    try {
      await inSession(context, requestId, () => wanted.executor.open(context, 'create'))
    } catch (error) {
      releaseSlot()
      throw error
    }
    const found = this.#directory.asNow(wanted)
    const limits = found.executor.limits ?? {}
    const record = newSessionRecord({
      context,
      limits,
      durable: found.agent.durable,
      home: this.#core.processes.id,
      now: this.#now(),
      requestId,
    })
    const live: LiveSession = {
      context,
      found,
      releaseSlot,
      stored: { version: 0, value: record },
      isForOneRequest: requestId !== undefined,
      isUnsure: false,
      isEnding: false,
      leaving: undefined,
      quiet: Promise.resolve(),
    }
    const id = mapKey(keyOf(context))
    this.#inserting.add(id)
    try {
      const stored = await this.#table.insert(keyOf(context), record)
      if (!stored) throw new BridgeError('INTERNAL', 'The id of the session is already used')
      live.stored = stored
      this.#live.set(id, live)
    } catch (error) {
      await this.takeDown(live, 'failed')
      throw error
    } finally {
      this.#inserting.delete(id)
    }
    this.onLiveChange()
    this.#tell(record, 'none')
    return live
  }

  /** Returns the record of a session, also after its end for as long as the record is kept. */
  async find(key: Owned): Promise<SessionRecord | undefined> {
    return (await this.#newest(key))?.value
  }

  /** Returns the record of an open session. Throws `NOT_FOUND` or `EXPIRED`. */
  async read(key: Owned): Promise<SessionRecord> {
    const record = await this.find(key)
    if (!record) throw missingSession(key.id)
    if (record.status === 'over') throw overSession(record)
    return record
  }

  /** Yields the open sessions of an owner. */
  async *list(owner: string): AsyncGenerator<SessionRecord> {
    for await (const record of this.#table.list(owner)) {
      const due = await this.#dueEnd(record)
      if (record.status !== 'over' && !due) yield record
    }
  }

  /** Returns the open session. If it is durable and this process does not hold it yet, attaches it. Throws `NOT_FOUND` or `EXPIRED`. */
  async held(key: Owned): Promise<LiveSession> {
    const record = await this.read(key)
    const id = mapKey(key)
    const live = this.#live.get(id)
    if (live) return live
    if (!record.durable) throw elsewhere(record)
    const attaching = this.#attaching.get(id) ?? this.#attach(record).finally(() => this.#attaching.delete(id))
    this.#attaching.set(id, attaching)
    return attaching
  }

  async #attach(record: SessionRecord): Promise<LiveSession> {
    const context = contextOf(record)
    const found = this.#directory.findEarlier(record.agentId, record.owner)
    const releaseSlot = this.slots.hold(found.executor, record.owner)
    try {
      await inSession(context, undefined, () => found.executor.open(context, 'attach'))
      const stored = await this.#table.read(keyOf(context))
      // The session may have ended in the meantime.
      if (!stored || stored.value.status === 'over') {
        found.executor.detach?.(context)
        throw stored ? overSession(stored.value) : missingSession(context.sessionId)
      }
      const live: LiveSession = {
        context,
        found: this.#directory.asNow(found),
        stored,
        isForOneRequest: false,
        isUnsure: false,
        isEnding: false,
        leaving: undefined,
        quiet: Promise.resolve(),
        releaseSlot,
      }
      this.#live.set(mapKey(keyOf(context)), live)
      this.onLiveChange()
      return live
    } catch (error) {
      releaseSlot()
      throw error
    }
  }

  /** Starts a prompt in the session. Throws `BUSY`, `NOT_FOUND`, `EXPIRED`, or `UPSTREAM` if the session has failed. */
  async take(live: LiveSession, requestId: string): Promise<void> {
    const home = this.#core.processes.id
    const taken = await this.#change(live, (record) => ({ ...withPrompt(record, requestId, this.#now()), home }))
    if (!taken) throw missingSession(live.context.sessionId)
  }

  /** Records the end of a prompt, in whichever process it ran. If the session has expired in the meantime, ends it. */
  async settle(key: Owned, end: PromptEnd): Promise<void> {
    const live = this.#live.get(mapKey(key))
    if (!live) return void (await this.#table.change(key, undefined, (record) => withoutPrompt(record, end, this.#core.redaction)))
    await this.#change(live, (record) => withoutPrompt(record, end, this.#core.redaction))
    await this.expire(live)
  }

  async fail(sessionId: string, error: BridgeError): Promise<void> {
    const live = this.live().find(({ context }) => context.sessionId === sessionId)
    if (live) await this.#change(live, (record) => asFailed(record, { error, now: this.#now() }, this.#core.redaction))
  }

  /** Ends the session; from then on it accepts no prompt. Returns true only to the caller that ended it. */
  async end(live: LiveSession, end: SessionEnd): Promise<boolean> {
    const ended = await this.#ending(live, () => this.#change(live, (record) => asOver(record, end, this.#now())))
    return ended?.changed ?? false
  }

  /** Ends the session if it has expired and is not busy, and waits for its hook. */
  async expire(live: LiveSession): Promise<void> {
    if (isExpired(live.stored.value, this.#now())) await this.#endDue(keyOf(live.context), live.stored, 'expired')
    if (live.stored.value.end === 'expired') await live.leaving
  }

  /** Ends the expired sessions among these, and waits for their hooks. Returns whether there were any. Never rejects. */
  async expireDue(isMeant: (live: LiveSession) => boolean = () => true): Promise<boolean> {
    const now = this.#now()
    const due = this.live().filter((live) => isMeant(live) && isExpired(live.stored.value, now))
    await Promise.all(due.map((live) => this.#core.attempt('an expired session was not closed', () => this.expire(live))))
    return due.length > 0
  }

  /** Waits until no agent works in the session, then calls the close hook once. Waits at most `withinMs`. Never rejects. */
  async takeDown(live: LiveSession, reason: CloseReason, withinMs = hookMs): Promise<void> {
    live.leaving ??= this.#takeDown(live, reason)
    await settlesWithin(this.#core.settings.clock, withinMs, live.leaving)
  }

  async #takeDown(live: LiveSession, reason: CloseReason): Promise<void> {
    const { context, found } = live
    await live.quiet
    this.#forget(live)
    const closing = this.#core.attempt('onSessionClose failed', () =>
      inSession(context, undefined, () => found.executor.close(context, reason)),
    )
    await settlesWithin(this.#core.settings.clock, hookMs, closing)
  }

  /** Releases a session that continues without this process. */
  detach(live: LiveSession): void {
    this.#forget(live)
    live.found.executor.detach?.(live.context)
  }

  #forget(live: LiveSession): void {
    this.#live.delete(mapKey(keyOf(live.context)))
    live.releaseSlot()
    this.onLiveChange()
  }

  /** Returns the current record. If the session has expired or its bridge is gone, ends it first. */
  async #newest(key: Owned): Promise<Stored<SessionRecord> | undefined> {
    const live = this.#live.get(mapKey(key))
    // Only this process writes the record of its non-durable sessions, so no read is needed.
    const isKnown = live && !live.stored.value.durable && !live.isUnsure
    const stored = isKnown ? live.stored : await this.#table.read(key)
    if (!stored) return undefined
    if (live) this.#see(live, stored)
    const due = await this.#dueEnd(stored.value)
    return due ? this.#endDue(key, stored, due) : stored
  }

  /** Updates the session to a read record. If it has ended, releases it. */
  #see(live: LiveSession, stored: Stored<SessionRecord>): void {
    live.stored = stored
    live.isUnsure = false
    if (stored.value.status !== 'over' || live.isEnding) return
    live.isEnding = true
    // Only this process ends a session that is not durable: the answer of the store was lost.
    if (!stored.value.durable) void this.takeDown(live, stored.value.end ?? 'closed')
    else void live.quiet.then(() => this.detach(live))
  }

  async #dueEnd(record: SessionRecord): Promise<'expired' | 'shutdown' | undefined> {
    if (record.status === 'over') return undefined
    if (isExpired(record, this.#now())) return 'expired'
    return record.durable || (await this.#isHeld(record)) ? undefined : 'shutdown'
  }

  /** Returns false if the process that opened the session is gone, or has taken it down without recording its end. */
  async #isHeld(record: SessionRecord): Promise<boolean> {
    const id = mapKey(keyOf(record))
    if (record.home !== this.#core.processes.id) return this.#core.processes.isAlive(record.home)
    return this.#live.has(id) || this.#inserting.has(id)
  }

  async #endDue(key: Owned, known: Stored<SessionRecord>, end: 'expired' | 'shutdown'): Promise<Stored<SessionRecord> | undefined> {
    const live = this.#live.get(mapKey(key))
    const isDue = (record: SessionRecord): boolean => end === 'shutdown' || isExpired(record, this.#now())
    const isEnding = live?.isEnding ?? false
    const ended = await this.#ending(live, () =>
      this.#table.change(key, known, (record) => (isDue(record) ? asOver(record, end, this.#now()) : undefined)),
    )
    if (!ended) return undefined
    this.#noteChange(ended, known.value.status)
    if (live) {
      live.isEnding = isEnding || ended.changed
      this.#see(live, ended.stored)
      if (ended.changed) void this.takeDown(live, known.value.status === 'failed' ? 'failed' : 'expired')
    }
    return ended.stored
  }

  /** Marks the session as ending. If the store fails, it is not ending: another process may end it. */
  async #ending<T>(live: LiveSession | undefined, work: () => Promise<T>): Promise<T> {
    if (!live) return work()
    const { isEnding } = live
    live.isEnding = true
    try {
      return await work()
    } catch (error) {
      live.isEnding = isEnding
      throw error
    }
  }

  async #change(
    live: LiveSession,
    change: (record: SessionRecord) => SessionRecord | undefined,
  ): Promise<Change<SessionRecord> | undefined> {
    const before = live.stored.value.status
    const result = await this.#table.change(keyOf(live.context), live.stored, change).catch((error: unknown) => {
      live.isUnsure = true
      throw error
    })
    if (!result) return undefined
    live.stored = result.stored
    this.#noteChange(result, before, live)
    return result
  }

  #noteChange({ changed, stored }: Change<SessionRecord>, before: string, live?: LiveSession): void {
    if (!changed) return
    const { value } = stored
    this.#tell(value, before)
    if (value.status !== 'over') return
    this.#unattached.remove(value)
    const agent = live?.found.agent
    // The session of a delegation is removed at once, unless its conversation can be continued.
    const isOfNoUse = value.end === 'closed' && live?.isForOneRequest && agent !== undefined && !(agent.resumable ?? agent.durable)
    if (isOfNoUse) void this.#core.attempt('the closed session was not removed', () => this.#table.remove(keyOf(value)))
    else this.#keepFor(keyOf(value))
  }

  /** A separate function: its closure is kept for up to a day and must not keep the record in memory. */
  #keepFor(key: Owned): void {
    this.#onOver(() => this.#table.remove(key))
  }

  #tell({ sessionId, agentId, owner, status, end }: SessionRecord, from: string): void {
    this.#core.observer.notify({ type: 'session-changed', sessionId, agentId, owner, from, to: status, ...(end && { reason: end }) })
  }

  #now(): number {
    return this.#core.settings.clock.now()
  }
}

export function keyOf({ owner, sessionId }: { readonly owner: string; readonly sessionId: string }): Owned {
  return { owner, id: sessionId }
}
