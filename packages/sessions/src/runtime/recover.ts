import type { DurableEvent, IdSource } from '@bowline/agent-loop'
import type { Clock, JSONValue } from '@bowline/llm'
import { newsOfChild, lastAnswerOfChild } from '../writer/child-deliveries.ts'
import { heldAtRoot } from '../writer/questions-at-root.ts'
import { retryOnConflict, tryAgain } from '../contract/retry-on-conflict.ts'
import { describeDiff, type DefinitionDiff } from '../contract/definition-diff.ts'
import { SessionError } from '../errors.ts'
import { lastEvents, lastWrites, lookAtLostRun, newsOfLostRun, toldOf, type LostRun, type LostRunEnd } from '../writer/close-run.ts'
import { deadlineFor } from '../writer/deadline.ts'
import { newEvent, numbered } from '../writer/new-event.ts'
import { patchOf } from '../writer/turn-state.ts'
import type { LiveLog } from '../log/live-log.ts'
import { openRuns } from '../commands/views.ts'
import { answerId, decisionId, isAllAnswered, openQuestions, readAnswers } from '../contract/answers.ts'
import { isWaiting } from '../contract/run-status.ts'
import type { CommitResult, Expect } from '../contract/batch.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import type { InboxRecord, RunRecord, RunRest, StoredEvent } from '../contract/records.ts'

interface RecoverContext {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
}

const stoppedBefore: LostRunEnd = { status: 'aborted', reason: 'abort' }

/** Puts the run back into the queue, with its turn open. Does nothing if another process has claimed it. */
export async function giveBack({ store, ids }: RecoverContext, { run, session }: Claim): Promise<void> {
  const result = await store.commit({
    id: ids.next('batch'),
    key: session.key,
    expect: fence(run),
    writes: [{ op: 'run.patch', runId: run.id, patch: { status: 'queued', reason: 'yielded' } }],
  })
  checkTaken(result)
}

/** Gives the run the status with which its turn ended or was suspended. All other records of the turn are stored already. */
export async function finalizeRun({ store, live, ids, clock }: RecoverContext, claim: Claim): Promise<void> {
  const { key } = claim.session
  return retryOnConflict(
    async () => {
      const [run, session] = await Promise.all([store.readRun(claim.run.id), store.readSession(key)])
      if (run.status === 'missing' || !('value' in session)) return undefined
      const { id, rest, turnState, pendingToolCalls, pendingApprovals } = run.value
      if (!rest) return undefined
      const patch = (await goesOn(store, run.value, rest)) ? ({ status: 'queued' } as const) : { ...patchOf(rest), status: rest.status }
      const batchId = ids.next('batch')
      const events = await eventsOfRest(store, run.value, clock.now())
      const answers = isWaiting(patch.status) ? await lastAnswerOfChild(store, run.value) : []
      const result = await store.commit({
        id: batchId,
        key,
        // A stop request or an input that arrives meanwhile causes a conflict and a retry.
        expect: [...fence(claim.run), { that: 'session', id: session.value.id, version: session.value.version }],
        writes: [
          { op: 'run.patch', runId: id, patch: { ...patch, rest: null } },
          // A deadline timer that fired before this status was stored was dropped, so it is set again.
          ...(isWaiting(patch.status) ? deadlineFor(run.value, run.value) : []),
          { op: 'event.append', events: events.map(newEvent) },
        ],
        deliver:
          'reason' in patch
            ? newsOfChild(claim.run, {
                ...rest,
                usage: run.value.usage,
                cost: run.value.cost,
                pendingToolCalls,
                pendingApprovals,
                spent: turnState?.spent,
                answers,
                at: clock.now(),
                batchId,
              })
            : [],
      })
      if (!result.ok && result.reason === 'conflict') return tryAgain
      checkTaken(result)
      if (result.ok) live.publish(key, numbered(events, result), true)
      return live.announce(key, id)
    },
    (tries) => `The session ${key} changed ${tries} times while a run was suspended.`,
  )
}

/** Returns the event `settled`, if no other run is open and the log does not have it yet. */
async function eventsOfRest(store: SessionStore, run: RunRecord, at: number): Promise<readonly DurableEvent[]> {
  if ((await toldOf(store, run)) !== 'end' || (await openRuns(store, run.session)).some(({ id }) => id !== run.id)) return []
  return [{ type: 'settled', at, runId: run.id, turn: run.turn ?? 0 }]
}

/** Returns true if a run whose turn ended as waiting no longer has to wait. */
async function goesOn(store: SessionStore, run: RunRecord, { status }: RunRest): Promise<boolean> {
  if (!isWaiting(status)) return false
  if (run.stop) return true
  if ((await store.readInbox(run.session, ['child-changed'])).length > 0) return true
  if (status === 'awaiting-subagent') return false
  return isAllAnswered(openQuestions(run, await readAnswers(store, run.session)))
}

/**
 * Ends a run that the loop cannot end. Gives every open call an outcome, so that the session can continue. Does nothing if
 * another process has claimed the run.
 */
export async function endLostRun(context: RecoverContext, claim: Claim, end: LostRunEnd): Promise<void> {
  const { store, live } = context
  const { key } = claim.session
  return retryOnConflict(
    async () => {
      const [run, session] = await Promise.all([store.readRun(claim.run.id), store.readSession(key)])
      if (run.status === 'missing' || !('value' in session) || run.value.epoch !== claim.run.epoch) return undefined
      if (run.value.rest) return finalizeRun(context, claim)
      const lost = await lookAtLostRun(context, run.value, {
        leaf: session.value.leaf,
        answers: answersOf(run.value, await readAnswers(store, key)).map((row) => row.id),
        end: run.value.stop && run.value.turn === undefined ? stoppedBefore : end,
        at: context.clock.now(),
      })
      const { id, version } = session.value
      // The session is not settled while another run is open. If that run ends meanwhile, this one is the last and the commit is
      // retried.
      const events =
        (await commitEnd(context, lost, true, { that: 'none-queued', except: run.value.id })) ??
        (await commitEnd(context, lost, false, { that: 'session', id, version }))
      if (!events) return tryAgain
      live.publish(key, events, true)
      // A run may end without an event.
      return live.announce(key, claim.run.id)
    },
    (tries) => `The session ${key} changed ${tries} times while a run was ended.`,
  )
}

/** Stores the run as `needs-recovery` with its turn open, until `recover` decides whether it may continue with another definition. */
export async function holdForDecision(
  { store, live, ids, clock }: RecoverContext,
  { run, session }: Claim,
  diff: DefinitionDiff,
): Promise<void> {
  const at = clock.now()
  const { step, turn = 0, usage, turnState } = run
  const cost = turnState?.cost && { cost: turnState.cost }
  const base = { at, runId: run.id, turn }
  const message = `The definition of the agent has changed: ${describeDiff(diff)}.`
  const events: DurableEvent[] = [
    {
      ...base,
      type: 'turn-start',
      resumed: true,
      attempt: run.attempts + 1,
      cause: 'takeover',
      definitionDiff: diff as unknown as JSONValue,
    },
    { ...base, type: 'turn-end', status: 'needs-recovery', reason: 'definition-changed', usage, ...cost, steps: step, overlaysExpired: 0 },
    { ...base, type: 'save-point' },
  ]
  const batchId = ids.next('batch')
  const answers = await lastAnswerOfChild(store, run)
  const patch = { status: 'needs-recovery', reason: 'definition-changed', error: { code: 'definition-changed', message }, ...cost } as const
  const result = await store.commit({
    id: batchId,
    key: session.key,
    expect: fence(run),
    writes: [
      { op: 'event.append', events: events.map(newEvent) },
      { op: 'run.patch', runId: run.id, patch },
    ],
    deliver: [
      ...newsOfChild(run, { status: 'needs-recovery', answers, at, batchId }),
      ...(await heldAtRoot(store, run, { at, batchId, message })),
    ],
  })
  checkTaken(result)
  if (result.ok) live.publish(session.key, numbered(events, result), true)
}

/** Returns the answers and decisions that wait for this run. */
export function answersOf({ id }: Pick<RunRecord, 'id'>, inbox: readonly InboxRecord[]): readonly InboxRecord[] {
  return inbox.filter((row) => row.id.startsWith(answerId(id, '')) || row.id.startsWith(decisionId(id, '')))
}

/** Returns the events of the end. Returns undefined if the session has changed. */
async function commitEnd(
  { store, ids }: RecoverContext,
  lost: LostRun,
  isLast: boolean,
  expect: Expect,
): Promise<readonly StoredEvent[] | undefined> {
  const { run } = lost
  const events = lastEvents(lost, isLast)
  const batchId = ids.next('batch')
  const result = await store.commit({
    id: batchId,
    key: run.session,
    expect: [...fence(run), expect],
    writes: lastWrites(lost, events),
    deliver: await newsOfLostRun(store, lost, batchId),
  })
  if (!result.ok && (result.reason === 'runs-queued' || result.reason === 'conflict')) return undefined
  checkTaken(result)
  return result.ok ? numbered(events, result) : []
}

/**
 * Ignores `fenced` and `missing`: another process has the run, or it is deleted. Throws on any other refusal, because no
 * process would continue the run.
 */
function checkTaken(result: CommitResult): void {
  if (result.ok || result.reason === 'fenced' || result.reason === 'missing') return
  throw new SessionError('conflict', `The store refused to release a run: ${result.reason}.`)
}

function fence(run: RunRecord): readonly Expect[] {
  return [{ that: 'fence', runId: run.id, epoch: run.epoch }]
}
