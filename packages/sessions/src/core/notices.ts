import { noticeNumber } from '../contract/notices.ts'
import type { NoticeClaimRequest, NoticeOutcome, NoticeQuery, NoticeRecord } from '../contract/notices.ts'
import { pageLimit, pageOf, parsePosition, printPosition, type Page } from '../contract/paging.ts'
import type { Found } from '../contract/session-store.ts'
import type { Change, Filter, Read, Row, Write } from '../rows/contract.ts'
import { settledNotice } from './rules.ts'
import { headOf, noticeRecord, noticeRow, sessionRow, type Head } from './records.ts'
import type { Decision, Steps } from './transact.ts'

/** Receivers that are read at once. */
const receiversPerRead = 1000

/** A claim of a notice that is stored if no other process has claimed it. */
export interface DecidedNotice {
  readonly notice: NoticeRecord
  readonly change: Change
}

/** Returns the first notice of each receiver whose notices the claim may take, the earliest first. */
export function* firstNotices({
  hooks,
  receiver,
  except = [],
}: NoticeClaimRequest): Steps<{ readonly now: number; readonly heads: readonly Row[] }> {
  const found: Row[] = []
  const one = receiver === undefined ? { equal: [], firstOfEach: true, limit: receiversPerRead } : { equal: [receiver], limit: 1 }
  for (let from: { readonly from?: string } = {}; ;) {
    const { now, rows } = yield [{ scan: 'notice', index: 'due', ...one, ...from }]
    const [page = []] = rows
    found.push(...page.filter((row) => hooks.includes(row['hook'] as string) && !except.includes(row['receiver'] as string)))
    if (page.length < receiversPerRead) return { now, heads: found.sort((a, b) => (a['dueAt'] as number) - (b['dueAt'] as number)) }
    const last = page.at(-1)?.['receiver'] as string
    // No name of a receiver contains this character.
    from = { from: `${last}\u0001` }
  }
}

/** Decides which notices to claim. The caller stores each claim alone. */
export function* decideNotices(request: NoticeClaimRequest): Steps<readonly DecidedNotice[]> {
  const { max, leaseMs } = request
  const { heads } = yield* firstNotices(request)
  if (max < 1 || heads.length === 0) return []
  // The first `max` notices are among those of the first `max` receivers.
  const reads: readonly Read[] = heads
    .slice(0, max)
    .map((head) => ({ scan: 'notice', index: 'due', equal: [head['receiver'] as string], limit: max }))
  const { now, rows } = yield reads
  const due = rows.flat().filter((row) => (row['dueAt'] as number) <= now)
  return due
    .sort((a, b) => (a['dueAt'] as number) - (b['dueAt'] as number))
    .slice(0, max)
    .map((row) => {
      const dueAt = now + leaseMs
      const attempts = (row['attempts'] as number) + 1
      const seen = { attempts: row['attempts'] as number, dueAt: row['dueAt'] as number }
      return {
        notice: { ...noticeRecord(row), attempts, dueAt },
        change: { provisional: true, writes: [{ update: 'notice', id: idOf(row), set: { attempts, dueAt }, if: seen }] },
      }
    })
}

function idOf(row: Row): readonly [string, number] {
  return [row['session'] as string, row['n'] as number]
}

interface Kept {
  readonly now: number
  readonly head: Head
  readonly row: Row
  readonly notice: NoticeRecord
}

function* noticeOf(key: string, id: string): Steps<Kept | undefined> {
  const { now, rows } = yield [
    { get: 'session', ids: [[key]] },
    { get: 'notice', ids: [[key, noticeNumber(id)]] },
  ]
  const [[session] = [], [row] = []] = rows
  const notice = row && noticeRecord(row)
  return session && row && notice?.id === id ? { now, head: headOf(session), row, notice } : undefined
}

/** Stores the notice, and how many of its hook are pending. Commits that add notices of the session are decided again. */
function saved({ head, row }: Kept, after: NoticeRecord, more: readonly Write[] = []): readonly Write[] {
  const wasPending = row['state'] === 'pending' ? 1 : 0
  const isPending = after.state === 'pending' ? 1 : 0
  return [
    ...keptPending(head, after.hook, isPending - wasPending),
    { put: 'notice', row: noticeRow(after, row['sessionId'] as string, row['receiver'] as string) },
    ...more,
  ]
}

function keptPending(head: Head, hook: string, by: number): readonly Write[] {
  const pending = { ...head.pending, [hook]: (head.pending[hook] ?? 0) + by }
  if (pending[hook] === 0) delete pending[hook]
  const { revision, body } = sessionRow({ ...head, pending, revision: head.revision + 1 })
  return [{ update: 'session', id: [head.record.key], set: { revision: revision ?? 0, body }, if: { revision: head.revision } }]
}

export function* settleNotice(
  { session, id, attempts }: Pick<NoticeRecord, 'session' | 'id' | 'attempts'>,
  outcome: NoticeOutcome,
): Steps<Decision<boolean>> {
  const kept = yield* noticeOf(session, id)
  if (kept?.notice.state !== 'pending' || kept.notice.attempts !== attempts) return { result: false }
  const { now, notice } = kept
  const settled = settledNotice(notice, outcome, now)
  const next = outcome.state === 'pending' ? [] : yield* nextInLine(session, notice.hook, [notice.n], now)
  return { result: true, change: { provisional: true, writes: saved(kept, settled, next) } }
}

/** Makes the first waiting notice of the hook due, unless another one is due. */
export function* nextInLine(session: string, hook: string, gone: readonly number[], now: number): Steps<readonly Write[]> {
  const { rows } = yield [{ scan: 'notice', index: 'line', equal: [session, hook], limit: gone.length + 2 }]
  const line = rows.flat().filter((row) => !gone.includes(row['n'] as number))
  const [next] = line
  if (!next || line.some((row) => row['dueAt'] !== null)) return []
  return [{ update: 'notice', id: idOf(next), set: { dueAt: now } }]
}

export function* resendNotice(key: string, id: string): Steps<Decision<Found<NoticeRecord>>> {
  const kept = yield* noticeOf(key, id)
  if (!kept) return { result: { status: 'missing' } }
  const { now, notice } = kept
  if (notice.state === 'pending') return { result: { status: 'found', value: notice } }
  const { settledAt: _at, error: _error, ...rest } = notice
  const value: NoticeRecord = { ...rest, state: 'pending', queuedAt: now, dueAt: now }
  return { result: { status: 'found', value }, change: { writes: saved(kept, value) } }
}

export function* listNotices(query: NoticeQuery): Steps<Page<NoticeRecord>> {
  const { limit, page, key, state, hook } = query
  const most = pageLimit(limit)
  const after = parsePosition(page, 'number', 'text', 'number')
  const where: Filter[] = key !== undefined && hook !== undefined ? [{ column: 'hook', in: [hook] }] : []
  const equal = [
    ...(key === undefined ? [] : [key]),
    ...(hook === undefined || key !== undefined ? [] : [hook]),
    ...(state === undefined ? [] : [state]),
  ]
  const { rows } = yield [{ scan: 'notice', index: listOf(query), equal, ...(after && { after }), where, limit: most + 1 }]
  return pageOf(rows.flat().map(noticeRecord), most, ({ at, id, n }) => printPosition(at, id.slice(0, id.lastIndexOf('.')), n))
}

function listOf({ key, state, hook }: NoticeQuery): string {
  if (key !== undefined) return state === undefined ? 'session' : 'ofState'
  if (hook !== undefined) return state === undefined ? 'hook' : 'hookState'
  return state === undefined ? 'list' : 'state'
}
