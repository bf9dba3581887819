import type { Batch, CommitResult } from '../../contract/batch.ts'
import { checkedStateStore } from '../../contract/checked-calls.ts'
import type { Claim, SessionStore, StoreHint } from '../../contract/session-store.ts'
import { checkedCopy } from '../../json.ts'
import { Refused } from '../../core/refused.ts'
import { hintsOf } from '../../core/rules.ts'
import { readApproval, readCall, readCalls } from './calls.ts'
import { claimRuns, renewLeases } from './claim.ts'
import type { Kept } from './claim.ts'
import { commitBatch } from './commit.ts'
import { readDefinition } from './definitions.ts'
import type { WordIndex } from './dialect.ts'
import type { SqlDriver } from './driver.ts'
import { dueNow } from './due.ts'
import { listBranches, readPath } from './entries.ts'
import { readEvents } from './events.ts'
import { readInbox } from './inbox.ts'
import { listSessions } from './list-sessions.ts'
import { claimNotices, listNotices, resendNotice, settleNotice } from './notices.ts'
import { pruneTables } from './prune.ts'
import { listChildren, listRuns, readRun } from './runs.ts'
import { readSession } from './sessions.ts'
import type { StoreView } from './sessions.ts'
import { listTimers } from './timers.ts'
import { sqlStateStore } from './state-store.ts'
import type { Steps } from './statement.ts'
import type { CommitContext } from './work.ts'

type SqlOperations = Omit<SessionStore, 'name' | 'capabilities' | 'open' | 'close'>

/** Creates the operations of a store. `driver` throws if the database is not open. `listeners` are notified of commits. */
export function sqlOperations(
  driver: () => SqlDriver,
  maxRecordBytes: number,
  index: WordIndex,
  listeners = new Set<(hint: StoreHint) => void>(),
): SqlOperations {
  async function transaction<T>(steps: (driver: SqlDriver) => Steps<T>): Promise<T> {
    const open = driver()
    return open.transaction(() => steps(open))
  }
  async function snapshot<T>(steps: (view: StoreView) => Steps<T>): Promise<T> {
    const open = driver()
    return open.snapshot(() => steps(viewOf(open)))
  }
  async function read<T>(steps: (view: StoreView) => Steps<T>): Promise<T> {
    const open = driver()
    return open.read(() => steps(viewOf(open)))
  }
  function contextOf({ isShared, violatesConstraint, ...open }: SqlDriver): CommitContext {
    return { ...viewOf(open), isShared, maxRecordBytes, violatesConstraint }
  }

  function tell(open: SqlDriver, batch: Batch, seq: number): void {
    const hints = hintsOf(batch)
    for (const hint of hints) for (const listener of listeners) listener(hint)
    open.tell(hints, seq)
  }

  return {
    async commit(given) {
      const batch = checkedCopy(given, 'batch')
      const open = driver()
      try {
        const result = await open.transaction(() => commitBatch(batch, contextOf(open)))
        if (result.ok && !result.existing) tell(open, batch, result.lastSeq)
        return result
      } catch (error) {
        return refusal(open, error)
      }
    },
    async claim(request) {
      const open = driver()
      if (!open.mayClaim()) return []
      const steps = (kept: Kept): Steps<readonly Claim[]> =>
        claimRuns(request, { ...viewOf(open), loss: open.loss, processCheck: open.processCheck(), kept })
      // May be lost: nothing depends on a claim before the first commit of its run.
      return request.keys?.length ? open.patient(steps) : open.provisional(() => steps('skip'))
    },
    async renew(leases, leaseMs) {
      if (leases.length === 0) return []
      const open = driver()
      return open.provisional(() => renewLeases(leases, leaseMs, viewOf(open)))
    },
    readSession: (key) => read((view) => readSession(view, key)),
    readPath: (key, options = {}) => snapshot((view) => readPath(view, key, options)),
    readEvents: (key, after, limit) => snapshot((view) => readEvents(view, key, after, limit)),
    readRun: (runId) => read(({ namespace }) => readRun(namespace, runId)),
    readCalls: (runId, step) => read(({ namespace }) => readCalls(namespace, runId, step)),
    readCall: (key, toolCallId) => read(({ namespace }) => readCall(namespace, key, toolCallId)),
    readApproval: (approvalId) => read(({ namespace }) => readApproval(namespace, approvalId)),
    readInbox: (key, kinds) => read(({ namespace }) => readInbox(namespace, key, kinds)),
    listSessions: (query) => snapshot((view) => listSessions(view, query)),
    listRuns: (key, query = {}) => read(({ namespace }) => listRuns(namespace, key, query)),
    listChildren: (query) => read(({ namespace }) => listChildren(namespace, query)),
    listBranches: (key, query = {}) => snapshot((view) => listBranches(view, key, query)),
    readDefinition: (hash) => read(({ namespace }) => readDefinition(namespace, hash)),
    listTimers: (query) => read(({ namespace }) => listTimers(namespace, query)),
    async due(limit, { runs = false } = {}) {
      const { localTime } = driver()
      const { now, nextAt, noticesAt, ...due } = await read((view) => dueNow(view, limit, runs))
      return {
        ...due,
        nextAt: nextAt === null ? null : localTime(nextAt, now),
        ...(noticesAt !== undefined && { noticesAt: localTime(noticesAt, now) }),
      }
    },
    async claimNotices(request) {
      const open = driver()
      // May be lost: then the notices are sent once more.
      const { now, nextAt, notices } = await open.provisional(() => claimNotices(request, viewOf(open)))
      return { notices, nextAt: nextAt === null ? null : open.localTime(nextAt, now) }
    },
    async settleNotice(notice, outcome) {
      const open = driver()
      return open.provisional(() => settleNotice(notice, outcome, viewOf(open)))
    },
    listNotices: (query) => read(({ namespace }) => listNotices(namespace, query)),
    resendNotice: (key, id) => transaction((open) => resendNotice(key, id, viewOf(open))),
    prune: (rules, limit) => transaction((open) => pruneTables(rules, limit, open)),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    state: checkedStateStore(sqlStateStore(driver, maxRecordBytes, index)),
  }
}

function viewOf({ namespace, now }: Pick<SqlDriver, 'namespace' | 'now'>): StoreView {
  return { namespace, now: now() }
}

function refusal({ violatesConstraint }: SqlDriver, error: unknown): CommitResult {
  if (error instanceof Refused) return { ok: false, reason: error.reason }
  if (violatesConstraint(error)) return { ok: false, reason: 'conflict' }
  throw error
}
