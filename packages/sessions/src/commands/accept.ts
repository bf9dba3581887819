import type { Accepted as EnqueuedInput, AgentInput } from '@bowline/agent-loop'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import type { Batch, CommitRefusal, CommitResult, Expect, NewRun, Write } from '../contract/batch.ts'
import type { Position } from '../contract/cursor.ts'
import { originOf } from '../contract/origin.ts'
import type { RunRecord, SessionRecord } from '../contract/records.ts'
import { activeRun, openStatuses } from '../contract/run-status.ts'
import { SessionError } from '../errors.ts'
import type { SessionAccess, SessionIdentity } from './access.ts'
import type { SessionContext } from './context.ts'
import { historyWrites } from './history.ts'
import { newRun, type NewInput } from './new-run.ts'
import { insertion, publishOwn, publishRunQueued, queuedEvent, sessionStart } from './queued-run.ts'
import { requestStop, stoppingOf, type Stopping } from './stop.ts'
import type { OnBusy } from './types.ts'
import { openRuns } from './views.ts'
import { readRun } from './rest-watch.ts'
import { isFreeBy, longestRecordsMs } from './wait-for-rest.ts'

const maxQueuedRuns = 1000
const interrupted = 'interrupted'
const lookAgain: ReadonlySet<CommitRefusal> = new Set(['conflict', 'missing', 'deleted', 'expired'])

export interface Accepted {
  readonly runId: string
  readonly accepted: 'queued' | 'steered' | 'duplicate'
  /** Position in the log before the first event of a queued run. */
  readonly from?: Position
}

/** Stores an input as a queued run. Creates the session if there is none. */
export async function acceptInput(
  context: SessionContext,
  access: SessionAccess,
  input: AgentInput,
  options: NewInput & { readonly onBusy: Exclude<OnBusy, 'steer'> },
): Promise<Accepted> {
  const { onBusy } = options
  const run = newRun(context, input, onBusy === 'interrupt' ? { lane: 'interrupt', ...options } : options)
  // Before the run can be claimed.
  if (options.driver) context.drivers.add(run.id, options.driver)
  let isNew = false
  try {
    const answer = await acceptRun(context, access, run, { onBusy, maxQueued: maxQueuedOf(options) })
    isNew = answer.accepted === 'queued'
    return answer
  } finally {
    if (!isNew) context.drivers.take(run.id)
  }
}

/** Conditions on the open runs. */
interface Conditions {
  readonly onBusy: OnBusy
  readonly maxQueued: number
}

function maxQueuedOf({ maxQueued = maxQueuedRuns }: NewInput): number {
  return Math.min(maxQueued, maxQueuedRuns)
}

async function acceptRun(context: SessionContext, access: SessionAccess, run: NewRun, conditions: Conditions): Promise<Accepted> {
  const { onBusy } = conditions
  const untilMs = context.clock.now() + longestRecordsMs(context.leaseMs)
  return retryOnConflict(
    async (tried) => {
      const session = await sessionFor(access, tried === 0 && onBusy !== 'interrupt')
      const active = onBusy === 'interrupt' && session ? activeRun(await openRuns(context.store, access.key)) : undefined
      const stopping = active && stoppingOf(active, active.stop ?? { at: run.at, reason: interrupted })
      const batch = acceptBatch(context, access.identity, session, run, conditions, stopping)
      const result = await context.store.commit(batch)
      if (result.ok) {
        const answer = accepted(context, access, run, session, result)
        // A repeat stops nothing. Otherwise the stop is stored, and this process and the runs below must still be notified.
        if (active && !result.existing) await requestStop(context, await readRun(context.store, active.id), interrupted)
        return answer
      }
      if (result.reason === 'busy' && (await isFreeBy(context, access.key, untilMs, 'compaction'))) return tryAgain
      // The session was created, deleted or expired in the meantime: read it again.
      if (!lookAgain.has(result.reason)) throw await refusal(context, result.reason, access.key)
      return tryAgain
    },
    (tries) => `The session ${access.key} changed ${tries} times while the input was accepted.`,
  )
}

/** A handle bound to a session does not read it: the commit expects that incarnation. */
async function sessionFor(access: SessionAccess, byHandle: boolean): Promise<ExpectedSession | null> {
  const { incarnation } = access
  if (byHandle && incarnation !== undefined) return { id: incarnation }
  const session = await access.find()
  return session && access.checkAlive(session)
}

/** Returns the session. Creates it if there is none. */
export async function openSession(context: SessionContext, access: SessionAccess): Promise<SessionRecord> {
  const existing = await access.find()
  if (existing) return existing
  const { identity } = access
  const at = context.clock.now()
  const result = await context.store.commit({
    id: context.ids.next('batch'),
    key: identity.key,
    expect: [{ that: 'session', id: null }],
    writes: creation(context, identity, at),
  })
  if (result.ok) {
    publishOwn(context, identity.key, result, [startOf(identity, at)])
    if (identity.settings.ttl) context.lookAhead()
  } else if (result.reason !== 'conflict') throw await refusal(context, result.reason, identity.key)
  return access.required()
}

/** Stores a follow-up that a run has asked for as a run of its own. The process that ends the asking run claims the next one. */
export async function acceptFollowUp(
  context: Pick<SessionContext, 'store' | 'live' | 'clock' | 'ids'>,
  session: SessionRecord,
  asking: RunRecord,
  input: AgentInput,
): Promise<EnqueuedInput> {
  const { key, id } = session
  const inputId = context.ids.next('input')
  const origin = originOf(asking)
  const run: NewRun = { ...newRun(context, input, { id: inputId, kind: 'follow-up' }), ...(origin && { origin }) }
  const result = await context.store.commit({
    id: context.ids.next('batch'),
    key,
    expect: [
      { that: 'session', id },
      { that: 'queue-below', max: maxQueuedRuns },
    ],
    writes: insertion(run),
  })
  if (!result.ok) return { ok: false, reason: result.reason === 'queue-full' ? 'queue-full' : 'run-ended' }
  publishRunQueued(context, key, result, run)
  return { ok: true, inputId }
}

function acceptBatch(
  context: SessionContext,
  identity: SessionIdentity,
  session: ExpectedSession | null,
  run: NewRun,
  { onBusy, maxQueued }: Conditions,
  stopping: Stopping | undefined,
): Batch {
  const expect: Expect[] = [expectedSession(session, onBusy === 'interrupt' && !stopping)]
  if (session) expect.push(onBusy === 'reject' ? { that: 'idle', exceptCompaction: true } : { that: 'queue-below', max: maxQueued })
  if (stopping) expect.push(...stopping.expect)
  return {
    id: context.ids.next('batch'),
    key: identity.key,
    expect,
    writes: [...(session ? [] : creation(context, identity, run.at)), ...(stopping?.writes ?? []), ...insertion(run)],
  }
}

/** `version` is known if the session was read. */
type ExpectedSession = Pick<SessionRecord, 'id'> & Partial<Pick<SessionRecord, 'version'>>

/** `asSeen` requires the version that was read: a run that has started since would have to be stopped. */
function expectedSession(session: ExpectedSession | null, asSeen: boolean): Expect {
  if (!session) return { that: 'session', id: null }
  const { id, version } = session
  return { that: 'session', id, alive: true, ...(asSeen && version !== undefined ? { version } : {}) }
}

function creation(context: SessionContext, identity: SessionIdentity, at: number): Write[] {
  const { agent, owner, metadata, settings, history = [] } = identity
  return [
    {
      op: 'session.ensure',
      session: { id: context.ids.next('session'), agent, metadata, settings, at, ...(owner === undefined ? {} : { owner }) },
    },
    ...historyWrites(history, at),
    { op: 'event.append', events: [{ event: startOf(identity, at) }] },
  ]
}

/** `copied` tells readers that the history is not in the log. */
function startOf({ key, history }: SessionIdentity, at: number) {
  return { ...sessionStart(key, at), ...(history && { copied: true as const }) }
}

function accepted(
  context: SessionContext,
  access: SessionAccess,
  run: NewRun,
  session: ExpectedSession | null,
  result: Extract<CommitResult, { ok: true }>,
): Accepted {
  access.bind(result.sessionId)
  if (result.existing) return { runId: result.existing.runId, accepted: 'duplicate' }
  const queued = queuedEvent(run)
  publishOwn(context, access.key, result, session ? [queued] : [startOf(access.identity, run.at), queued])
  if (!session && access.identity.settings.ttl) context.lookAhead()
  context.wake(access.key, run.notBefore)
  return { runId: run.id, accepted: 'queued', from: { seq: result.firstSeq - 1, n: 0 } }
}

export async function refusal(context: SessionContext, reason: CommitRefusal, key: string): Promise<SessionError> {
  switch (reason) {
    case 'busy': {
      const [open] = (await context.store.listRuns(key, { status: openStatuses, limit: 1 })).items
      return new SessionError(
        'busy',
        `A run of the session ${key} is open. Wait for it, stop it, or choose another onBusy.`,
        open ? { runId: open.id } : {},
      )
    }
    case 'id-reused':
      return new SessionError('id-reused', 'The input id was used before with other content. Choose another id.')
    case 'queue-full':
      return new SessionError('queue-full', `The limit of pending runs and inputs of the session ${key} is reached. Retry later.`)
    default:
      return new SessionError('conflict', `The store refused the input: ${reason}.`)
  }
}
