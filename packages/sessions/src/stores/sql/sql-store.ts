import { checkJson } from '../json.ts'
import { Refused } from '../refused.ts'
import type { CommitResult, SessionStore } from '../../store/contract.ts'
import { readApproval, readCall, readCalls } from './calls.ts'
import { claimRuns, renewLeases } from './claim.ts'
import { commitBatch } from './commit.ts'
import { readPath } from './entries.ts'
import { readEvents } from './events.ts'
import { readInbox } from './inbox.ts'
import { listRuns, readRun } from './runs.ts'
import { listSessions, readSession } from './sessions.ts'
import { sqlStateStore } from './state-store.ts'
import type { Steps } from './statement.ts'

/** How a database runs steps: at once or in time. Both fail with errors of the store. */
export interface SqlDriver {
  readonly namespace: string
  readonly now: () => number
  /** All of it or, when it throws, nothing. */
  readonly transaction: <T>(steps: Steps<T>) => T | Promise<T>
  readonly read: <T>(steps: Steps<T>) => T | Promise<T>
  /** Tells a reference to nothing, or a second row of one key, from a fault of the database. */
  readonly violatesConstraint: (error: unknown) => boolean
}

type SqlOperations = Omit<SessionStore, 'name' | 'capabilities' | 'open' | 'close'>

/** The operations of a store over a database that is open. `driver` throws when it is not. */
export function sqlOperations(driver: () => SqlDriver, maxRecordBytes: number): SqlOperations {
  async function transaction<T>(steps: (driver: SqlDriver) => Steps<T>): Promise<T> {
    const open = driver()
    return open.transaction(steps(open))
  }
  async function read<T>(steps: (namespace: string) => Steps<T>): Promise<T> {
    const open = driver()
    return open.read(steps(open.namespace))
  }

  return {
    async commit(batch) {
      checkJson(batch, 'batch')
      const open = driver()
      const { namespace } = open
      try {
        return await open.transaction(commitBatch(batch, { namespace, now: open.now(), maxRecordBytes }))
      } catch (error) {
        return refusal(open, error)
      }
    },
    claim: (request) => transaction(({ namespace, now }) => claimRuns(request, { namespace, now: now() })),
    async renew(leases, leaseMs) {
      if (leases.length === 0) return []
      return transaction(({ namespace, now }) => renewLeases(leases, now() + leaseMs, namespace))
    },
    readSession: (key) => read((namespace) => readSession(namespace, key)),
    readPath: (key, options = {}) => read((namespace) => readPath(namespace, key, options)),
    readEvents: (key, after, limit) => read((namespace) => readEvents(namespace, key, after, limit)),
    readRun: (runId) => read((namespace) => readRun(namespace, runId)),
    readCalls: (runId, step) => read((namespace) => readCalls(namespace, runId, step)),
    readCall: (key, toolCallId) => read((namespace) => readCall(namespace, key, toolCallId)),
    readApproval: (key, approvalId) => read((namespace) => readApproval(namespace, key, approvalId)),
    readInbox: (key, kinds) => read((namespace) => readInbox(namespace, key, kinds)),
    listSessions: (query) => read((namespace) => listSessions(namespace, query)),
    listRuns: (key, query = {}) => read((namespace) => listRuns(namespace, key, query)),
    state: sqlStateStore(driver, maxRecordBytes),
  }
}

function refusal({ violatesConstraint }: SqlDriver, error: unknown): CommitResult {
  if (error instanceof Refused) return { ok: false, reason: error.reason }
  if (violatesConstraint(error)) return { ok: false, reason: 'conflict' }
  throw error
}
