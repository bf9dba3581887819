import type { JSONObject } from '@bowline/llm'
import { checkedSessionStore } from '../contract/checked-calls.ts'
import type { Batch } from '../contract/batch.ts'
import type { Claim, SessionStore, StoreHint } from '../contract/session-store.ts'
import type { StateStore } from '../contract/state-store.ts'
import { SessionError } from '../errors.ts'
import { checkedCopy, copyJson } from '../json.ts'
import type { RowStore } from '../rows/contract.ts'
import { decideClaims, decideDue, decideRenewals, listClaimable, type Loss } from './claim.ts'
import { commitBatch } from './commit.ts'
import { listSessions } from './lists.ts'
import { decideNotices, firstNotices, listNotices, resendNotice, settleNotice } from './notices.ts'
import { pruneDefinitions, pruneSession, sessionsToPrune } from './prune.ts'
import {
  listBranches,
  listChildren,
  listRuns,
  listTimers,
  readApproval,
  readCall,
  readCalls,
  readDefinition,
  readEvents,
  readInbox,
  readPath,
  readRun,
  readSession,
} from './reads.ts'
import { answer, KeyedQueue, mostTries, transact, type Decision, type Steps } from './transact.ts'

export interface CoreOptions {
  readonly loss: Loss
  readonly state: StateStore
  /** Converts a time of the store to the clock of this process. `now` is the present time of the store. Default: they are the same. */
  readonly localTime?: (at: number, now: number) => number
}

/** Keeps all promises of a session store over a store of rows. */
export function coreStore(rows: RowStore, { loss, state, localTime = (at) => at }: CoreOptions): SessionStore {
  const { durable, processes, maxRowBytes: maxRecordBytes } = rows.capabilities
  const queue = new KeyedQueue()
  const listeners = new Set<(hint: StoreHint) => void>()
  let timesOpened = 0
  let unsubscribe: (() => void) | undefined
  const read = async <T>(steps: Steps<T>): Promise<T> => copyJson(await answer(rows, steps))
  const decide = async <T>(keys: readonly string[], steps: (tries: number) => Steps<Decision<T>>): Promise<T> =>
    copyJson(await queue.run(keys, () => transact(rows, steps)))

  return checkedSessionStore({
    name: rows.name,
    capabilities: { durable, processes, maxRecordBytes },
    async open(options) {
      await rows.open(options)
      timesOpened += 1
      unsubscribe ??= rows.subscribe((hint) => {
        for (const listener of listeners) listener(hint)
      })
    },
    async close() {
      await queue.settled()
      timesOpened = Math.max(0, timesOpened - 1)
      if (timesOpened === 0) {
        unsubscribe?.()
        unsubscribe = undefined
      }
      await rows.close()
    },
    async commit(given) {
      const batch: Batch = checkedCopy(given, 'batch')
      return decide([batch.key, ...(batch.deliver ?? []).map(({ to }) => to)], (tries) => commitBatch(batch, tries))
    },
    async claim(request) {
      const claims: Claim[] = []
      const refused = new Map<string, number>()
      /** Returns true if another process was faster: there may be others to claim. */
      const claimMore = async (): Promise<boolean> => {
        const max = request.max - claims.length
        const holds = [...request.holds, ...claims.map(({ run }) => run.id)]
        const { claims: decided, bounds } = await answer(rows, decideClaims({ ...request, max, holds }, loss, refused))
        const changes = [...decided.map(({ change }) => change), ...bounds]
        const stored = changes.length > 0 ? await rows.write(changes) : []
        claims.push(...decided.flatMap(({ claim }, place) => (stored[place] ? [claim] : [])))
        for (const [place, { claim, revision }] of decided.entries()) if (!stored[place]) refused.set(claim.session.key, revision)
        return decided.some((_claim, place) => !stored[place])
      }
      try {
        for (let tries = 0; tries < mostTries && (await claimMore()); tries++);
      } catch (error) {
        // The caller must get the runs that it holds. If the store still fails, its next claim fails.
        if (claims.length === 0) throw error
      }
      return copyJson(claims)
    },
    async renew(leases, leaseMs) {
      const decided = await answer(rows, decideRenewals(leases, leaseMs))
      const stored = await rows.write(decided.flatMap(({ change }) => change ?? []))
      let place = 0
      return decided.map(({ state: each, change }) => (change && !stored[place++] ? { runId: each.runId, held: false } : each))
    },
    readSession: (key) => read(readSession(key)),
    readPath: (key, options = {}) => read(readPath(key, options)),
    readEvents: (key, after, limit) => read(readEvents(key, after, limit)),
    readRun: (runId) => read(readRun(runId)),
    readCalls: (runId, step) => read(readCalls(runId, step)),
    readCall: (key, toolCallId) => read(readCall(key, toolCallId)),
    readApproval: (approvalId) => read(readApproval(approvalId)),
    readInbox: (key, kinds) => read(readInbox(key, kinds)),
    async readDefinition(hash) {
      const body = await answer(rows, readDefinition(hash))
      return body === undefined ? undefined : (copyJson(body) as JSONObject)
    },
    listSessions: (query) => read(listSessions(query)),
    listRuns: (key, query = {}) => read(listRuns(key, query)),
    listChildren: (query) => read(listChildren(query)),
    listBranches: (key, query = {}) => read(listBranches(key, query)),
    listTimers: (query) => read(listTimers(query)),
    listClaimable: (query = {}) => read(listClaimable(query)),
    async due(limit) {
      const { now, nextAt, noticesAt, ...due } = await read(decideDue(limit))
      return {
        ...due,
        nextAt: nextAt === null ? null : localTime(nextAt, now),
        ...(noticesAt !== undefined && { noticesAt: localTime(noticesAt, now) }),
      }
    },
    async prune(rules, limit) {
      const keys = await answer(rows, sessionsToPrune(rules, limit))
      const report = { runs: 0, events: 0 }
      for (const key of keys.slice(0, limit)) {
        const pruned = await decide([key], () => pruneSession(key, rules))
        report.runs += pruned.runs
        report.events += pruned.events
      }
      // The first time it marks definitions, the second time it deletes those that are still marked.
      for (let time = 0; time < 2; time++) await rows.write(await answer(rows, pruneDefinitions()))
      return { ...report, more: keys.length > limit }
    },
    async claimNotices(request) {
      const decided = await answer(rows, decideNotices(request))
      const stored = await rows.write(decided.map(({ change }) => change))
      const notices = copyJson(decided.flatMap(({ notice }, place) => (stored[place] ? [notice] : [])))
      const { now, heads } = await answer(rows, firstNotices(request))
      const [next] = heads
      return { notices, nextAt: next ? localTime(next['dueAt'] as number, now) : null }
    },
    settleNotice: (notice, outcome) => decide([notice.session], () => settleNotice(notice, outcome)),
    listNotices: (query) => read(listNotices(query)),
    resendNotice: (key, id) => decide([key], () => resendNotice(key, id)),
    subscribe(listener) {
      if (!unsubscribe) throw new SessionError('store-unavailable', `The ${rows.name} store is not open`)
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    state,
  })
}
