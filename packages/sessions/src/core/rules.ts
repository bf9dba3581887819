import { statusOf } from '@bowline/agent-loop/events'
import { addCost, addUsage, type Cost } from '@bowline/llm'
import type { Batch, NewRun, NewSession, PartialEvent, RunPatch, SessionPatch, Write } from '../contract/batch.ts'
import {
  runMoves,
  type InboxKind,
  type Lane,
  type RunKind,
  type RunRecord,
  type RunStatus,
  type SessionRecord,
  type StoredEvent,
  type TerminalStatus,
} from '../contract/records.ts'
import type { NoticeOutcome, NoticeRecord } from '../contract/notices.ts'
import { isOpen, statusOfRun } from '../contract/run-status.ts'
import type { ClaimRequest, Read, StoreHint } from '../contract/session-store.ts'
import { tenantOf } from '../keys.ts'
import { refuseUnless } from './refused.ts'

/** Run record without its input, which never changes. */
export type RunState = Omit<RunRecord, 'input'>

/** Numbers that continue when a session is created under the key of a deleted one. */
export type Numbers = Pick<SessionRecord, 'version' | 'nextSeq' | 'nextRun'>

export const firstNumbers: Numbers = { version: 0, nextSeq: 1, nextRun: 1 }

export function newSession(key: string, session: NewSession, numbers: Numbers): SessionRecord {
  const { at, settings = {}, ...given } = session
  const created: SessionRecord = {
    ...given,
    ...numbers,
    key,
    firstSeq: numbers.nextSeq,
    leaf: null,
    turns: 0,
    usage: {},
    childUsage: {},
    settings,
    createdAt: at,
    activeAt: at,
  }
  return withExpiry(created, at)
}

export function patchSession(session: SessionRecord, patch: SessionPatch): SessionRecord {
  const { usage, cost, childUsage, childCost, ...given } = patch
  return {
    ...session,
    ...given,
    ...(usage && { usage: addUsage(session.usage, usage) }),
    ...(childUsage && { childUsage: addUsage(session.childUsage, childUsage) }),
    ...(cost && { cost: sumOf(session.cost, cost) }),
    ...(childCost && { childCost: sumOf(session.childCost, childCost) }),
  }
}

/** Adds up costs. Ignores a cost in another currency than the first. */
function sumOf(before: Cost | undefined, cost: Cost): Cost {
  return before && before.currency === cost.currency ? (addCost(before, cost) ?? before) : (before ?? cost)
}

/** A commit without a new run moves `activeAt` only after this time, so that not every step writes the indexes of lists. */
const activityMs = 60_000

/**
 * Returns the session after a commit. `before` is the session before it; undefined if the commit created it. An expired session stays
 * expired, even if its expiry was not recorded yet.
 */
export function touchSession(session: SessionRecord, before: SessionRecord | undefined, now: number): SessionRecord {
  const activeAt =
    before?.nextRun !== session.nextRun || now - session.activeAt >= activityMs ? Math.max(session.activeAt, now) : session.activeAt
  const touched = { ...session, activeAt, version: session.version + 1 }
  return hasExpired(session, now) ? touched : withExpiry(touched, now)
}

/** Returns the session marked as expired, at `now` or earlier. */
export function expireSession(session: SessionRecord, now: number): SessionRecord {
  const { expiresAt = now, ...rest } = session
  return { expiredAt: Math.min(expiresAt, now), ...rest }
}

/**
 * Sets the expiry: `maxAgeMs` after creation or `idleMs` after `now`, whichever is earlier. If the clock was set back to before the
 * creation, both count from `now`.
 */
function withExpiry(session: SessionRecord, now: number): SessionRecord {
  const { maxAgeMs = 'never', idleMs = 'never' } = session.settings.ttl ?? {}
  const createdAt = Math.min(session.createdAt, now)
  const ends = [maxAgeMs === 'never' ? Infinity : createdAt + maxAgeMs, idleMs === 'never' ? Infinity : now + idleMs]
  const expiresAt = Math.min(...ends)
  return expiresAt === Infinity ? session : { ...session, expiresAt }
}

/** True if the session has expired, whether this was recorded yet or not. */
export function hasExpired({ expiredAt, expiresAt = Infinity }: Pick<SessionRecord, 'expiredAt' | 'expiresAt'>, now: number): boolean {
  return expiredAt !== undefined || expiresAt <= now
}

/** Returns the session after a change of its runs. `first` holds it or is next in its queue. */
export function withStatus(session: SessionRecord, first: RunState | undefined): SessionRecord {
  const { status: _before, ...rest } = session
  if (first) return { ...rest, status: statusOfRun(first) }
  return session.outcome ? { ...rest, status: statusOf(session.outcome) } : rest
}

/** Returns the session after this change of a run. A compaction does not change its outcome. */
export function withOutcome(session: SessionRecord, before: RunState, { kind, status }: RunState): SessionRecord {
  const hasEnded = isOpen(before.status) && !isOpen(status) && kind !== 'compaction'
  return hasEnded ? { ...session, outcome: status as TerminalStatus } : session
}

const laneOfKind: Readonly<Record<RunKind, Lane>> = {
  compaction: 'compaction',
  'follow-up': 'follow-up',
  user: 'queue',
  child: 'queue',
  notification: 'queue',
}
const laneOrder: readonly Lane[] = ['compaction', 'interrupt', 'follow-up', 'queue']
const placesPerLane = 2 ** 40
/** Place before all lanes, for a run that has started and was yielded. No other run may start before it continues. */
const firstPlace = 0

/** Returns the number that orders the queue: by lane, then by acceptance; interrupts newest first. */
function placeOf(lane: Lane, n: number): number {
  const place = laneOrder.indexOf(lane) * placesPerLane
  return lane === 'interrupt' ? place + placesPerLane - n : place + n
}

export function newRun(session: SessionRecord, run: NewRun): RunRecord {
  const { at, lane = laneOfKind[run.kind], ...given } = run
  const n = session.nextRun
  return {
    ...given,
    session: session.key,
    n,
    place: placeOf(lane, n),
    firstSeq: session.nextSeq,
    status: 'queued',
    epoch: 0,
    attempts: 0,
    totalAttempts: 0,
    step: 0,
    pendingToolCalls: [],
    pendingApprovals: [],
    usage: {},
    createdAt: at,
  }
}

/** Returns the run after a patch. Refuses a transition that the table does not allow. */
export function patchRun<R extends RunState>(run: R, patch: RunPatch, now: number): R {
  const { status, endedAt, answered } = patch
  const next: Record<string, unknown> = { ...run, ...(answered && withoutAnswered(run, answered)) }
  for (const [name, value] of Object.entries(patch)) {
    if (name === 'endedAt' || name === 'answered') continue
    if (value === null) delete next[name]
    else next[name] = value
  }
  if (patch.pendingToolCalls) delete next.answeredBelow
  if (status) {
    refuseUnless(runMoves[run.status].includes(status), 'conflict')
    if (status !== 'running') {
      delete next.owner
      delete next.leaseUntil
    }
    if (status === 'queued' && next.turn !== undefined) next.place = firstPlace
    if (!isOpen(status)) next.endedAt = endedAt ?? now
  }
  return next as unknown as R
}

/** Returns the open questions without the answered ones. */
function withoutAnswered(run: RunState, answered: readonly string[]): Partial<RunState> {
  const pendingToolCalls = run.pendingToolCalls.filter(({ path, toolCallId }) => !answered.includes([...path, toolCallId].join('/')))
  const pendingApprovals = run.pendingApprovals.filter(({ approvalId }) => !answered.includes(approvalId))
  const asksNothing = pendingToolCalls.length + pendingApprovals.length === 0
  return {
    ...(asksNothing && { status: withoutQuestions(run.status) }),
    ...(asksNothing && run.rest && { rest: { ...run.rest, status: withoutQuestions(run.rest.status) } }),
    pendingApprovals,
    pendingToolCalls,
    ...(pendingToolCalls.length < run.pendingToolCalls.length && { answeredBelow: true }),
  }
}

/** The answers were passed to subagents, so the run now waits for these only. */
function withoutQuestions<S extends RunStatus>(status: S): S | 'awaiting-subagent' {
  return status === 'awaiting-tools' || status === 'awaiting-approval' ? 'awaiting-subagent' : status
}

const longestTakeoverDelayMs = 30_000

/**
 * Returns the backoff in ms before a lost run may be taken over, so that a run that kills its process does not do so all the time.
 */
function takeoverDelayMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(longestTakeoverDelayMs, 1000 * 2 ** (attempts - 1))
}

/**
 * Returns the earliest time of a claim, leases apart. If the last claim lies in the future, the clock was set back since: the run
 * can be claimed now.
 */
export function claimableAt({ status, notBefore = 0, claimedAt = 0, attempts }: RunState, now: number): number {
  if (status !== 'running') return notBefore
  return claimedAt > now ? now : claimedAt + takeoverDelayMs(attempts)
}

/** Returns the run after a claim. A running run was lost by its owner, which counts as an attempt. */
export function claimRun<R extends RunState>(run: R, request: ClaimRequest, now: number): R {
  const lost = run.status === 'running' ? 1 : 0
  return {
    ...run,
    status: 'running',
    epoch: run.epoch + 1,
    owner: request.owner,
    leaseUntil: now + request.leaseMs,
    claimedAt: now,
    attempts: run.attempts + lost,
    totalAttempts: run.totalAttempts + lost,
  }
}

/** Returns the session as of `now`, with its expiry whether that was recorded or not. */
export function readableRecord(record: SessionRecord, now: number): SessionRecord {
  return hasExpired(record, now) ? expireSession(record, now) : record
}

export function readOfSession(record: SessionRecord, now: number): Read<SessionRecord> {
  const value = readableRecord(record, now)
  return value.expiredAt === undefined ? { status: 'found', value } : { status: 'expired', at: value.expiredAt, value }
}

/** Returns the event for readers, with its number and with its reference resolved. */
export function wholeEvent(event: PartialEvent, seq: number, filledIn: FilledIn): StoredEvent {
  return { ...event, ...filledIn, seq } as unknown as StoredEvent
}

export type FilledIn = { readonly message?: unknown } | { readonly input?: unknown }

/** Inbox rows of these kinds become a run if no run is open to take them. */
export const inputKindsThatStart: readonly InboxKind[] = ['steer', 'child-settled']

/** Returns the tenant whose limit applies to this run. Null if there is none. */
export function tenantOfRun(session: string, { parent }: Pick<RunState, 'parent'>): string | null {
  return parent ? null : (tenantOf(session) ?? null)
}

/** Counts the running runs of each tenant during a claim. */
export class TenantCounts {
  readonly #most: number
  readonly #counts: Map<string, number>

  constructor(most: number, running: Iterable<readonly [tenant: string, runs: number]>) {
    this.#most = most
    this.#counts = new Map(running)
  }

  /** Returns the tenants that have reached the limit. */
  full(): readonly string[] {
    return [...this.#counts].flatMap(([tenant, count]) => (count >= this.#most ? [tenant] : []))
  }

  /** Returns true and counts the run if it may be claimed. A run that is already running is counted before. */
  take({ tenant, status }: { readonly tenant: string | null; readonly status: RunStatus }): boolean {
    if (tenant === null || status !== 'queued') return true
    const count = this.#counts.get(tenant) ?? 0
    if (count >= this.#most) return false
    this.#counts.set(tenant, count + 1)
    return true
  }
}

/** Returns the notice after an attempt. */
export function settledNotice({ dueAt: _due, error: _error, ...notice }: NoticeRecord, outcome: NoticeOutcome, now: number): NoticeRecord {
  const error = 'error' in outcome && outcome.error !== undefined ? { error: outcome.error } : {}
  return outcome.state === 'pending'
    ? { ...notice, ...error, dueAt: now + outcome.dueInMs }
    : { ...notice, ...error, state: outcome.state, settledAt: now }
}

/** Returns the hints about an applied batch. */
export function hintsOf({ key, writes, deliver = [] }: Batch): readonly StoreHint[] {
  return [{ key, wake: queues(writes) }, ...deliver.map((each) => ({ key: each.to, wake: queues(each.writes) }))]
}

function queues(writes: readonly Write[]): boolean {
  return writes.some((write) => write.op === 'run.insert' || (write.op === 'run.patch' && write.patch.status === 'queued'))
}
