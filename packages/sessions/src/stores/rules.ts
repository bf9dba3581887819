import { statusOf } from '@bowline/agent-loop/events'
import { addCost, addUsage, type Cost } from '@bowline/llm'
import type { Batch, NewRun, NewSession, PartialEvent, RunPatch, SessionPatch, Write } from '../contract/batch.ts'
import { runMoves, statusOfRun, type InboxKind, type Lane, type RunKind, type RunRecord, type RunStatus, type SessionRecord, type StoredEvent, type TerminalStatus } from '../contract/records.ts'
import type { NoticeOutcome, NoticeRecord } from '../contract/notices.ts'
import { isOpen } from '../contract/run-status.ts'
import type { ClaimRequest, Read, StoreHint } from '../contract/session-store.ts'
import { tenantOf } from '../keys.ts'
import { refuseUnless } from './refused.ts'

/** A run without its input, which never changes. */
export type RunState = Omit<RunRecord, 'input'>

/** What goes on when a session is created under a key that an earlier one had. */
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

/** Costs in another currency than the first are left out. */
function sumOf(before: Cost | undefined, cost: Cost): Cost {
  return before && before.currency === cost.currency ? (addCost(before, cost) ?? before) : (before ?? cost)
}

/** The session after a commit: nothing brings an expired one back, also when nobody has marked it yet. */
export function touchSession(session: SessionRecord, now: number): SessionRecord {
  const touched = { ...session, activeAt: Math.max(session.activeAt, now), version: session.version + 1 }
  return hasExpired(session, now) ? touched : withExpiry(touched, now)
}

/** Marked as over; at the latest its life ends now. */
export function expireSession(session: SessionRecord, now: number): SessionRecord {
  const { expiresAt = now, ...rest } = session
  return { expiredAt: Math.min(expiresAt, now), ...rest }
}

/** Ends its life `maxAgeMs` after its creation and `idleMs` after now. Both count from now if the clock was set back since. */
function withExpiry(session: SessionRecord, now: number): SessionRecord {
  const { maxAgeMs = 'never', idleMs = 'never' } = session.settings.ttl ?? {}
  const createdAt = Math.min(session.createdAt, now)
  const ends = [maxAgeMs === 'never' ? Infinity : createdAt + maxAgeMs, idleMs === 'never' ? Infinity : now + idleMs]
  const expiresAt = Math.min(...ends)
  return expiresAt === Infinity ? session : { ...session, expiresAt }
}

/** Also of a session that nobody has marked yet. */
export function hasExpired({ expiredAt, expiresAt = Infinity }: Pick<SessionRecord, 'expiredAt' | 'expiresAt'>, now: number): boolean {
  return expiredAt !== undefined || expiresAt <= now
}

/** The session after its runs changed. `first` holds it, or comes next. */
export function withStatus(session: SessionRecord, first: RunState | undefined): SessionRecord {
  const { status: _before, ...rest } = session
  if (first) return { ...rest, status: statusOfRun(first) }
  return session.outcome ? { ...rest, status: statusOf(session.outcome) } : rest
}

/** The session after this change of a run. A compaction says nothing about how the conversation stands. */
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
/** Before all lanes: of the run that has begun, and was given back. No other may come between its parts. */
const firstPlace = 0

/** One number that orders the queue: by lane, then by acceptance, the newest interrupt first. */
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

/** The run after a patch. Refuses a move that the table of moves does not have. */
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

/** The lists of open questions without those that have their answer. */
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

/** All that is left of a run that waited for answers are its subagents: they have the answers. */
function withoutQuestions<S extends RunStatus>(status: S): S | 'awaiting-subagent' {
  return status === 'awaiting-tools' || status === 'awaiting-approval' ? 'awaiting-subagent' : status
}

const longestTakeoverDelayMs = 30_000

/** How long after its last claim a lost run is left alone: a run that kills its process must not do so all the time. */
function takeoverDelayMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(longestTakeoverDelayMs, 1000 * 2 ** (attempts - 1))
}

/**
 * Returns when the run may be claimed, leases apart. A last claim that lies in the future was made before the clock was set
 * back: the run is not kept waiting for as long as the clock went back.
 */
export function claimableAt({ status, notBefore = 0, claimedAt = 0, attempts }: RunState, now: number): number {
  if (status !== 'running') return notBefore
  return claimedAt > now ? now : claimedAt + takeoverDelayMs(attempts)
}

/** The run after a claim. A running one was lost by its owner, and that counts. */
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

/** The session as it is now, whether somebody has marked its end or not. */
export function readableRecord(record: SessionRecord, now: number): SessionRecord {
  return hasExpired(record, now) ? expireSession(record, now) : record
}

export function readOfSession(record: SessionRecord, now: number): Read<SessionRecord> {
  const value = readableRecord(record, now)
  return value.expiredAt === undefined ? { status: 'found', value } : { status: 'expired', at: value.expiredAt, value }
}

/** The event as readers get it: with its number and with what its reference stands for. */
export function wholeEvent(event: PartialEvent, seq: number, filledIn: FilledIn): StoredEvent {
  return { ...event, ...filledIn, seq } as unknown as StoredEvent
}

export type FilledIn = { readonly message?: unknown } | { readonly input?: unknown }

/** Rows of these kinds become a run, if no run is there to take them. */
export const inputKindsThatStart: readonly InboxKind[] = ['steer', 'child-settled']

/** The tenant for whose sake this run may be left waiting. Null: there is none. */
export function tenantOfRun(session: string, { parent }: Pick<RunState, 'parent'>): string | null {
  return parent ? null : (tenantOf(session) ?? null)
}

/** How many running runs tenants have, as a claim goes on. */
export class TenantCounts {
  readonly #most: number
  readonly #counts: Map<string, number>

  constructor(most: number, running: Iterable<readonly [tenant: string, runs: number]>) {
    this.#most = most
    this.#counts = new Map(running)
  }

  /** Those that have as many as they may have. */
  full(): readonly string[] {
    return [...this.#counts].flatMap(([tenant, count]) => (count >= this.#most ? [tenant] : []))
  }

  /** Whether the run may be claimed; then it counts. One that is running already does. */
  take({ tenant, status }: { readonly tenant: string | null; readonly status: RunStatus }): boolean {
    if (tenant === null || status !== 'queued') return true
    const count = this.#counts.get(tenant) ?? 0
    if (count >= this.#most) return false
    this.#counts.set(tenant, count + 1)
    return true
  }
}

/** The notice after an attempt. */
export function settledNotice({ dueAt: _due, error: _error, ...notice }: NoticeRecord, outcome: NoticeOutcome, now: number): NoticeRecord {
  const error = 'error' in outcome && outcome.error !== undefined ? { error: outcome.error } : {}
  return outcome.state === 'pending' ? { ...notice, ...error, dueAt: now + outcome.dueInMs } : { ...notice, ...error, state: outcome.state, settledAt: now }
}

/** What others are told of a batch that was applied. */
export function hintsOf({ key, writes, deliver = [] }: Batch): readonly StoreHint[] {
  return [{ key, wake: queues(writes) }, ...deliver.map((each) => ({ key: each.to, wake: queues(each.writes) }))]
}

function queues(writes: readonly Write[]): boolean {
  return writes.some((write) => write.op === 'run.insert' || (write.op === 'run.patch' && write.patch.status === 'queued'))
}
