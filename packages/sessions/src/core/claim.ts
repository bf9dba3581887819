import { pageLimit, pageOf, parsePosition, printPosition, type Page, type PageRequest } from '../contract/paging.ts'
import { waitingKinds, type RunRecord } from '../contract/records.ts'
import { statusOfRun } from '../contract/run-status.ts'
import type { Claim, ClaimRequest, DueReport, Lease, LeaseState } from '../contract/session-store.ts'
import { valueIn, type Change, type Filter, type Read, type Row, type Scan } from '../rows/contract.ts'
import { claimableAt, claimRun, hasExpired, TenantCounts, tenantOfRun, type RunState } from './rules.ts'
import { firstRun, headOf, inboxRecord, runRecord, storedRun, timerRecord, type Head, type StoredRun } from './records.ts'
import type { Steps } from './transact.ts'
import { savedHead, savedRun } from './work.ts'

/** Way of detecting the loss of a run: by its lease or, in a store of one process, by its owner. */
export type Loss = 'lease' | 'owner'

/** Rows of an index that a claim reads at once. */
const rowsPerRead = 200

/** A claim that is stored if nothing has changed since it was decided. */
export interface DecidedClaim {
  readonly claim: Claim
  readonly change: Change
  /** Revision of the session that was read. */
  readonly revision: number
}

export interface DecidedClaims {
  readonly claims: readonly DecidedClaim[]
  /** Changes of leases that end later than one given now. */
  readonly bounds: readonly Change[]
}

/**
 * Decides which runs to claim. The caller stores each claim alone. `refused` holds the revisions of sessions whose claim was refused:
 * one that has not changed since is locked, or this process may not claim.
 */
export function* decideClaims(request: ClaimRequest, loss: Loss, refused: ReadonlyMap<string, number> = new Map()): Steps<DecidedClaims> {
  const { max, agents, maxRunsPerTenant } = request
  if (max < 1 || agents.length === 0) return { claims: [], bounds: [] }
  const tenants = maxRunsPerTenant === undefined ? undefined : yield* countTenants(maxRunsPerTenant)
  const seen = new Set<string>()
  const decided: DecidedClaim[] = []
  const bounds: Change[] = []
  let next = yield* firstCandidates(request, loss, tenants?.full() ?? [])
  for (;;) {
    bounds.push(...next.bounds)
    const keys = next.keys.filter((key) => !seen.has(key))
    for (const key of keys) seen.add(key)
    const found = yield* firstRuns([...new Set(keys)], next.sessions)
    const claimable = found.filter((each) => isClaimable(each, request, loss, refused))
    const inOrder = claimable.sort((a, b) => a.run.createdAt - b.run.createdAt || a.run.n - b.run.n)
    const open = inOrder.filter(({ run }) => tenants?.take({ tenant: tenantOfRun(run.session, run), status: run.status }) ?? true)
    for (const each of open.slice(0, max - decided.length)) decided.push(claimOne(each, request))
    if (decided.length === max || next.rest.length === 0) return { claims: decided, bounds }
    next = yield* candidates(next.rest)
  }
}

function* firstCandidates(request: ClaimRequest, loss: Loss, fullTenants: readonly string[]): Steps<Candidates> {
  const { runId, keys, others = keys === undefined } = request
  if (runId !== undefined) {
    const { rows } = yield [{ get: 'run', ids: [[runId]] }]
    return { keys: rows.flat().map((row) => row['session'] as string), sessions: [], bounds: [], rest: [] }
  }
  if (!others) return { keys: keys ?? [], sessions: [], bounds: [], rest: [] }
  const found = yield* candidates(sourcesOf(request, loss, fullTenants))
  return { ...found, keys: [...(keys ?? []), ...found.keys] }
}

function* countTenants(most: number): Steps<TenantCounts> {
  const counts = new Map<string, number>()
  for (let after: { readonly after?: readonly string[] } = {}; ;) {
    const [page = []] = (yield [{ scan: 'lease', index: 'tenant', equal: [], limit: rowsPerRead, ...after }]).rows
    for (const row of page) {
      const [tenant, run] = [row['tenant'] as string, row['run'] as string]
      counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
      after = { after: [tenant, run] }
    }
    if (page.length < rowsPerRead) return new TenantCounts(most, counts)
  }
}

/** An index with sessions that may have something to claim. */
interface Source {
  readonly scan: Scan
  /** Columns that follow `equal` in the index. */
  readonly order: readonly string[]
  readonly isDue: (row: Row, now: number) => boolean
  /** Its leases are shortened to this length in ms. */
  readonly boundMs?: number
}

interface Candidates {
  readonly keys: readonly string[]
  /** Sessions that were read. */
  readonly sessions: readonly Row[]
  /** Changes that shorten leases. */
  readonly bounds: readonly Change[]
  /** Sources with more rows. */
  readonly rest: readonly Source[]
}

function sourcesOf(request: ClaimRequest, loss: Loss, fullTenants: readonly string[]): readonly Source[] {
  const { owner, holds, agents, leaseMs } = request
  const lease = (order: readonly string[], index: string, more: object, isDue: Source['isDue']): Source => {
    return { scan: { scan: 'lease', index, equal: [], limit: rowsPerRead, ...more }, order, isDue }
  }
  const until = ['until', 'run']
  const where: readonly Filter[] = [
    { column: 'agent', in: agents },
    { column: 'startTenant', not: fullTenants },
  ]
  return [
    { scan: { scan: 'session', index: 'start', equal: [], where, limit: rowsPerRead }, order: ['startAt', 'key'], isDue: canStart },
    loss === 'owner'
      ? lease(until, 'until', { where: [{ column: 'owner', not: [owner] }] }, () => true)
      : lease(until, 'until', {}, (row, now) => (row['until'] as number) <= now),
    lease(['run'], 'owner', { equal: [owner], where: [{ column: 'run', not: holds }] }, () => true),
    ...(loss === 'lease'
      ? [{ ...lease(until, 'until', { reverse: true }, (row, now) => (row['until'] as number) > now + leaseMs), boundMs: leaseMs }]
      : []),
  ]
}

/** Returns the sessions of the next rows of all sources. */
function* candidates(sources: readonly Source[]): Steps<Candidates> {
  const { now, rows } = yield sources.map(({ scan }) => scan)
  const due = sources.map(({ isDue }, place) => (rows[place] ?? []).filter((row) => isDue(row, now)))
  const rest = sources.flatMap((source, place): readonly Source[] => {
    const last = rows[place]?.[rowsPerRead - 1]
    if (!last || due[place]?.length === 0) return []
    return [{ ...source, scan: { ...source.scan, after: source.order.map((column) => last[column] as string | number) } }]
  })
  const sessions = due.filter((_rows, place) => sources[place]?.scan.scan === 'session').flat()
  const bounds = sources.flatMap(({ boundMs }, place) =>
    boundMs === undefined ? [] : (due[place] ?? []).map((row) => boundLease(row, now + boundMs)),
  )
  return { keys: due.flat().map((row) => (row['session'] ?? row['key']) as string), sessions, bounds, rest }
}

/** The clock that gave a run its time of acceptance may be ahead of the store's. */
function canStart(row: Row, now: number): boolean {
  return ((row['notBefore'] ?? 0) as number) <= now
}

interface FirstRun {
  readonly head: Head
  readonly stored: StoredRun
  readonly run: RunState
  readonly record: RunRecord
  readonly inbox: readonly Row[]
  readonly now: number
}

/** Reads the first open run of each session, with its input and its inbox. A claim is refused if its session has changed in between. */
function* firstRuns(keys: readonly string[], known: readonly Row[]): Steps<readonly FirstRun[]> {
  if (keys.length === 0) return []
  const read = known.filter((row) => keys.includes(row['key'] as string))
  const others = keys.filter((key) => !read.some((row) => row['key'] === key))
  const more = others.length > 0 ? (yield [{ get: 'session', ids: others.map((key) => [key]) }]).rows.flat() : []
  const heads = [...read, ...more].map(headOf)
  const ids = heads.flatMap(({ first }) => (first ? [[first.id]] : []))
  const waiting = heads.filter(({ inbox }) => waitingKinds.some((kind) => (inbox[kind] ?? 0) > 0))
  const { now, rows } = yield [
    { get: 'run', ids },
    { get: 'input', ids },
    { get: 'lease', ids },
    ...waiting.map(({ record }) => ({ scan: 'inbox', index: 'n', equal: [record.key], limit: Infinity })),
  ]
  const [runs = [], inputs = [], leases = [], ...inboxes] = rows
  return heads.flatMap((head) => {
    const row = runs.find((each) => each['id'] === head.first?.id)
    if (!row) return []
    const ofRun = (list: readonly Row[]): Row | undefined => list.find((each) => each['run'] === row['id'])
    const inbox = inboxes[waiting.indexOf(head)] ?? []
    const stored = storedRun(row)
    return [{ head, stored, run: stored.state, record: runRecord(row, ofRun(inputs), ofRun(leases)), inbox, now }]
  })
}

function isClaimable(
  { head, run, record, now }: FirstRun,
  request: ClaimRequest,
  loss: Loss,
  refused: ReadonlyMap<string, number>,
): boolean {
  const { owner, holds, agents, runId, lostAt, leaseMs } = request
  if (refused.get(head.record.key) === head.revision) return false
  if (hasExpired(head.record, now) || !agents.includes(head.record.agent) || (runId ?? run.id) !== run.id) return false
  // A lease that ends later than a new one would was given before the clock was set back.
  const until = Math.min(record.leaseUntil ?? now, now + leaseMs)
  const isLost = run.owner === owner ? !holds.includes(run.id) : loss === 'owner' || until <= now || head.record.version === lostAt
  return (run.status === 'queued' || (run.status === 'running' && isLost)) && claimableAt(run, now) <= now
}

function claimOne({ head, stored, run, record, inbox, now }: FirstRun, request: ClaimRequest): DecidedClaim {
  const state = claimRun(run, request, now)
  const session = { ...head.record, status: statusOfRun(state), version: head.record.version + 1 }
  const next: Head = {
    ...head,
    record: session,
    revision: head.revision + 1,
    queuedRuns: head.queuedRuns - (run.status === 'queued' ? 1 : 0),
    first: firstRun(state),
  }
  return {
    claim: {
      run: { ...record, ...state, input: record.input },
      session,
      previous: run.status === 'queued' ? 'queued' : 'running',
      inbox: inbox.map(inboxRecord).filter(({ kind }) => waitingKinds.includes(kind)),
    },
    revision: head.revision,
    change: {
      provisional: true,
      isClaim: true,
      writes: [savedHead(head, next), ...savedRun(stored, { ...stored, state })],
    },
  }
}

/** Shortens a lease that ends later than one given now: it was given before the clock was set back. */
function boundLease(row: Row, until: number): Change {
  return { provisional: true, writes: [{ update: 'lease', id: [row['run'] as string], set: { until }, if: ownEpoch(row) }] }
}

function ownEpoch(row: Row): Readonly<Record<string, number>> {
  return { epoch: row['epoch'] as number }
}

/** Returns the state of these leases, and for those that are held the change that renews them. */
export function* decideRenewals(
  leases: readonly Lease[],
  leaseMs: number,
): Steps<readonly { readonly state: LeaseState; readonly change?: Change }[]> {
  const { now, rows } = yield [{ get: 'lease', ids: leases.map(({ runId }) => [runId]) }]
  return leases.map(({ runId, epoch }) => {
    const row = rows.flat().find((each) => each['run'] === runId && each['epoch'] === epoch)
    if (!row) return { state: { runId, held: false } }
    const stop = valueIn(row, 'stop')
    const stopping = stop === null ? {} : { stopping: JSON.parse(stop as string) as NonNullable<LeaseState['stopping']> }
    const write = { update: 'lease', id: [runId], set: { until: now + leaseMs }, if: { epoch } } as const
    return { state: { runId, held: true, ...stopping }, change: { provisional: true, writes: [write] } }
  })
}

/** A run that was claimed before the clock was set back can be claimed at once when it is lost. */
function isFromLaterClock(row: Row, now: number): boolean {
  return (row['claimedAt'] as number) > now
}

/** Returns the work that is due by time alone, and when more becomes due. */
export function* decideDue(limit: number): Steps<DueReport & { readonly now: number }> {
  const limitOf = Math.max(0, limit) + 1
  const scan = (table: string, index: string, more: object = {}): Read => ({ scan: table, index, equal: [], limit: limitOf, ...more })
  const { now, rows } = yield [
    scan('timer', 'due'),
    scan('session', 'end'),
    scan('session', 'unread'),
    scan('session', 'later'),
    scan('lease', 'retry'),
    scan('notice', 'next', { limit: 1 }),
  ]
  const [timers = [], ends = [], unread = [], waiting = [], retrying = [], notices = []] = rows
  const upTo = (list: readonly Row[], column: string): readonly Row[] =>
    list.filter((row) => (row[column] as number) <= now).slice(0, limit)
  const firstOf = (list: readonly Row[], column: string): readonly number[] => list.slice(0, 1).map((row) => row[column] as number)
  const isLate = (row: Row, column: string): boolean => (row[column] as number) > now
  let delayed = waiting.filter((row) => isLate(row, 'notBefore'))
  let retries = retrying.filter((row) => isLate(row, 'retryAt'))
  const isUnknown = (late: readonly Row[], all: readonly Row[]): boolean => late.length === 0 && all.length >= limitOf
  if (isUnknown(delayed, waiting) || isUnknown(retries, retrying)) {
    const { rows: later } = yield [scan('session', 'later', { from: now + 1, limit: 1 }), scan('lease', 'retry', { from: now + 1 })]
    delayed = [...(later[0] ?? [])]
    retries = [...(later[1] ?? [])]
  }
  const next = [
    ...[...firstOf(timers, 'dueAt'), ...firstOf(ends, 'expiresAt')].map((at) => Math.max(now, at)),
    ...firstOf(delayed, 'startAt'),
    ...firstOf(
      retries.filter((row) => !isFromLaterClock(row, now)),
      'retryAt',
    ),
  ]
  const [notice] = notices
  return {
    now,
    timers: upTo(timers, 'dueAt').map(timerRecord),
    expired: upTo(ends, 'expiresAt').map((row) => row['key'] as string),
    unread: unread.map((row) => row['key'] as string).slice(0, limit),
    nextAt: next.length > 0 ? Math.min(...next) : null,
    ...(notice && { noticesAt: notice['dueAt'] as number }),
  }
}

/** Lists sessions whose first run can be claimed. A page may have fewer items than its limit: runs that wait are left out. */
export function* listClaimable({ limit, page }: PageRequest): Steps<Page<string>> {
  const most = pageLimit(limit)
  const [table, ...after] = parsePosition(page, 'text', 'number', 'text') ?? []
  const scan = (of: string, index: string): Read => {
    return { scan: of, index, equal: [], limit: most + 1, ...(table === of && { after }) }
  }
  const { now, rows } = yield [scan('session', 'start'), ...(table === 'session' ? [] : [scan('lease', 'until')])]
  const [starts = [], leases = []] = rows
  const found = [
    ...leases
      .filter((row) => (row['until'] as number) <= now)
      .map((row) => ({ at: ['lease', row['until'], row['run']], key: row['session'], isDue: canRetry(row, now) })),
    ...starts.map((row) => ({ at: ['session', row['startAt'], row['key']], key: row['key'], isDue: canStart(row, now) })),
  ]
  const { items, ...more } = pageOf(found, most, ({ at }) => printPosition(...(at as string[])))
  return { items: items.flatMap(({ key, isDue }) => (isDue ? [key as string] : [])), ...more }
}

function canRetry(row: Row, now: number): boolean {
  return isFromLaterClock(row, now) || ((row['retryAt'] ?? 0) as number) <= now
}
