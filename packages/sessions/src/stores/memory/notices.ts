import type { Page } from '../../contract/paging.ts'
import { pageLimit, pageOf } from '../../contract/paging.ts'
import { hooksOf } from '../../contract/draft-notices.ts'
import { noticeId, parseNoticePosition, printNoticePosition } from '../../contract/notices.ts'
import type { NoticeClaimRequest, NoticeClaims, NoticeDraft, NoticeOutcome, NoticeQuery, NoticeRecord } from '../../contract/notices.ts'
import type { SessionRecord } from '../../contract/records.ts'
import type { Found, PruneRules } from '../../contract/session-store.ts'
import { settledNotice } from '../../core/rules.ts'
import type { HeldSession } from './held-session.ts'
import type { NoticeLine } from './notice-index.ts'
import { findNotices } from './notice-lists.ts'
import type { Space, Work } from './space.ts'
import { heldOf, inOneStep, put, remove, setRecord } from './work.ts'

/** Adds the notices of a change to a session, one for each subscribed hook. */
export function putNotices(work: Work, draftsOf: (session: SessionRecord) => readonly NoticeDraft[]): void {
  const held = heldOf(work)
  if (work.notify.length === 0 && !held.record.settings.notify) return
  const hooks = hooksOf(held.record, work.notify)
  for (const { type, body } of hooks.length > 0 ? draftsOf(held.record) : []) {
    for (const { name } of hooks.filter(({ events }) => events.includes(type))) {
      const n = (held.record.notices ?? 0) + 1
      const { key: session, id } = held.record
      const due = isWaitedFor(held, name) ? {} : { dueAt: work.now }
      setNotice(work, held, {
        id: noticeId(id, n),
        session,
        n,
        hook: name,
        type,
        at: work.now,
        body,
        state: 'pending',
        attempts: 0,
        queuedAt: work.now,
        ...due,
      })
      setRecord(work, { ...held.record, notices: n })
      work.space.noticesPut += 1
    }
  }
}

function isWaitedFor({ pendingNotices }: HeldSession, hook: string): boolean {
  for (const notice of pendingNotices.values()) if (notice.hook === hook) return true
  return false
}

function setNotice(work: Work, held: HeldSession, notice: NoticeRecord): void {
  relist(work, held.notices.get(notice.id), notice)
  put(work, held.notices, notice.id, notice)
  if (notice.state === 'pending') put(work, held.pendingNotices, notice.id, notice)
  else remove(work, held.pendingNotices, [notice.id])
  if (notice.dueAt === undefined) remove(work, held.dueNotices, [notice.id])
  else put(work, held.dueNotices, notice.id, notice)
}

export function claimNotices(space: Space, request: NoticeClaimRequest, now: number): NoticeClaims {
  const { max, leaseMs } = request
  const due: { readonly held: HeldSession; readonly notice: NoticeRecord; readonly dueAt: number }[] = []
  // The first `max` notices are in the first `max` sessions of the first `max` receivers.
  for (const { hook, sessions } of wantedLines(space, request).slice(0, max)) {
    for (const held of sessions.until(now, max)) {
      for (const notice of held.dueNotices.values()) {
        const { dueAt = Infinity } = notice
        if (notice.hook === hook && dueAt <= now) due.push({ held, notice, dueAt })
      }
    }
  }
  const taken = due.sort((a, b) => a.dueAt - b.dueAt).slice(0, max)
  const notices = taken.map(({ held, notice }) =>
    inOneStep(space, held.record.key, now, (work) => {
      work.isClaim = true
      const claimed = { ...notice, attempts: notice.attempts + 1, dueAt: now + leaseMs }
      setNotice(work, held, claimed)
      return claimed
    }),
  )
  return { notices, nextAt: wantedLines(space, request)[0]?.sessions.first ?? null }
}

/** Returns the receivers whose notices the claim may take, in the order of their first due time. */
function wantedLines({ index }: Space, { hooks, receiver, except = [] }: NoticeClaimRequest): readonly NoticeLine[] {
  return index.notices.lines.filter(({ hook, receiver: to }) => hooks.includes(hook) && (receiver ?? to) === to && !except.includes(to))
}

export function settleNotice(
  space: Space,
  { session, id, attempts }: Pick<NoticeRecord, 'session' | 'id' | 'attempts'>,
  outcome: NoticeOutcome,
  now: number,
): boolean {
  const held = space.sessions.get(session)
  const notice = held?.pendingNotices.get(id)
  if (!held || notice?.attempts !== attempts) return false
  inOneStep(space, session, now, (work) => {
    setNotice(work, held, settledNotice(notice, outcome, now))
    if (outcome.state !== 'pending') callNext(work, held, notice.hook)
  })
  return true
}

/** Makes the first waiting notice due now, unless another one is due. */
function callNext(work: Work, held: HeldSession, hook: string): void {
  const line = [...held.pendingNotices.values()].filter((notice) => notice.hook === hook)
  const [next] = line.toSorted((a, b) => a.n - b.n)
  if (next && !line.some(({ id }) => held.dueNotices.has(id))) setNotice(work, held, { ...next, dueAt: work.now })
}

export function resendNotice(space: Space, key: string, id: string, now: number): Found<NoticeRecord> {
  const held = space.sessions.get(key)
  const notice = held?.notices.get(id)
  if (!held || !notice) return { status: 'missing' }
  if (notice.state === 'pending') return { status: 'found', value: notice }
  const { settledAt: _at, error: _error, ...rest } = notice
  const value: NoticeRecord = { ...rest, state: 'pending', queuedAt: now, dueAt: now }
  inOneStep(space, key, now, (work) => setNotice(work, held, value))
  return { status: 'found', value }
}

export function listNotices({ notices }: Space, { limit, page, ...query }: NoticeQuery): Page<NoticeRecord> {
  const most = pageLimit(limit)
  const found: NoticeRecord[] = []
  for (const notice of findNotices(notices, query, page === undefined ? undefined : parseNoticePosition(page))) {
    if (found.push(notice) > most) break
  }
  return pageOf(found, most, printNoticePosition)
}

/** Replaces a notice in the lists of all sessions. */
export function relist({ space: { notices }, undo }: Work, before: NoticeRecord | undefined, after?: NoticeRecord): void {
  if (before) notices.remove(before)
  if (after) notices.add(after)
  undo.push(() => {
    if (after) notices.remove(after)
    if (before) notices.add(before)
  })
}

/** Removes old notices from at most `limit` sessions. Returns true if there may be more. */
export function pruneNotices(
  space: Space,
  { runsEndedBefore, noticesQueuedBefore = -Infinity }: PruneRules,
  now: number,
  limit: number,
): boolean {
  const isOver = ({ settledAt, queuedAt }: NoticeRecord): boolean =>
    settledAt === undefined ? queuedAt < noticesQueuedBefore : settledAt < runsEndedBefore
  const { settledNotices, notices } = space.index
  let touched = 0
  for (const held of new Set([
    ...settledNotices.until(runsEndedBefore),
    ...(noticesQueuedBefore === -Infinity ? [] : notices.lines.flatMap(({ sessions }) => [...sessions.values()])),
  ])) {
    const gone = [...held.notices.values()].filter(isOver)
    if (gone.length === 0) continue
    if (touched++ === limit) break
    inOneStep(space, held.record.key, now, (work) => {
      const ids = gone.map(({ id }) => id)
      remove(work, held.notices, ids)
      remove(work, held.pendingNotices, ids)
      remove(work, held.dueNotices, ids)
      for (const notice of gone) relist(work, notice)
      for (const hook of new Set(gone.flatMap((notice) => (notice.state === 'pending' ? [notice.hook] : [])))) callNext(work, held, hook)
    })
  }
  return touched > limit
}
