import type { ApprovalRequest, PendingToolCall } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'
import { isFields, needed } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'
import type { NewEvent } from './batch.ts'
import { sessionHook, type NoticeDraft, type NoticeHook, type NoticeType } from './notices.ts'
import type { RunRecord, SessionRecord } from './records.ts'
import { isTerminal, statusOfRun } from './run-status.ts'

/** Returns the hooks of a session: those of the commit and its own. A child session has none. */
export function hooksOf({ parent, settings }: SessionRecord, given: readonly NoticeHook[] = []): readonly NoticeHook[] {
  if (parent !== undefined) return []
  return settings.notify ? [...given, { name: sessionHook, events: settings.notify.events }] : given
}

type RunState = Omit<RunRecord, 'input'>

/** Refuses what cannot be a record: stores of users call the functions below. */
function checkRecord(path: string, value: unknown, ...lists: readonly string[]): void {
  const wanted = lists.length === 0 ? 'a record' : `a record with ${lists.join(' and ')}`
  inputChecks.checkRequired(path, value, wanted, (given) => isFields(given) && lists.every((name) => Array.isArray(given[name])))
}

/** Returns the notices for a changed run. Compactions give none. Throws `invalid-input` for a value that is not a record. */
export function noticesOfRun(session: SessionRecord, before: RunState, after: RunState): readonly NoticeDraft[] {
  checkRecord('session', session)
  checkRecord('before', before, 'pendingToolCalls', 'pendingApprovals')
  checkRecord('after', after, 'pendingToolCalls', 'pendingApprovals')
  if (after.kind === 'compaction') return []
  const hasMoved = before.status !== after.status
  const draft = (type: NoticeType, more: JSONObject = {}): NoticeDraft => ({ type, body: { ...bodyOf(session, after), ...more } })
  if (isTerminal(after.status)) {
    if (!hasMoved) return []
    return after.status === 'limit' && after.reason === 'max-cost' ? [draft('budget'), draft('settled')] : [draft('settled')]
  }
  if (after.status === 'needs-recovery') return hasMoved ? [draft('needs-recovery', questionsIn(after))] : []
  const waits = after.status === 'awaiting-tools' || after.status === 'awaiting-approval'
  if (!waits && after.status !== 'running') return []
  // A run that goes on may have asked already: its webhooks were told in that commit.
  const isTold = !hasMoved || !waits || (before.status === 'running' && before.pendingToolCalls.length > 0)
  if (isTold && !asksMore(before, after)) return []
  const asked = new Set(namesOf(before))
  const asksForMore = after.pendingApprovals.some(({ about, approvalId }) => about === 'budget' && !asked.has(approvalId))
  return [...(asksForMore ? [draft('budget')] : []), draft('awaiting-answer', questionsIn(after))]
}

function bodyOf(session: SessionRecord, run: RunState): JSONObject {
  const { id, status, reason, cost, error } = run
  return {
    ...placeOf(session),
    runId: id,
    status: statusOfRun(run),
    outcome: status,
    ...(reason !== undefined && { reason }),
    ...(cost && { cost: cost as unknown as JSONObject }),
    ...(error && { error: codeOf(error) }),
  }
}

function placeOf({ key, agent }: SessionRecord): JSONObject {
  return { session: key, agent }
}

/** Returns the code alone, because the text of an error may hold content. */
function codeOf(error: NonNullable<RunRecord['error']>): JSONObject {
  return 'code' in error && error.code !== undefined ? { code: error.code } : 'kind' in error ? { kind: error.kind } : {}
}

type Questions = Pick<RunRecord, 'pendingToolCalls' | 'pendingApprovals'>

function asksMore(before: Questions, after: Questions): boolean {
  const known = new Set(namesOf(before))
  return namesOf(after).some((name) => !known.has(name))
}

function namesOf({ pendingToolCalls, pendingApprovals }: Questions): readonly string[] {
  return [
    ...pendingToolCalls.map(({ path, toolCallId }) => [...path, toolCallId].join('/')),
    ...pendingApprovals.map(({ approvalId }) => approvalId),
  ]
}

/** Returns names only, because inputs of tools are content. */
function questionsIn({ pendingToolCalls, pendingApprovals }: Questions): JSONObject {
  return { pendingToolCalls: pendingToolCalls.map(callOf), pendingApprovals: pendingApprovals.map(approvalOf) }
}

function callOf({ toolCallId, toolName, path, agent }: Pick<PendingToolCall, 'toolCallId' | 'toolName' | 'path' | 'agent'>): JSONObject {
  return { toolCallId, toolName, path: [...path], agent: [...agent] }
}

function approvalOf({
  approvalId,
  about,
  ...call
}: Pick<ApprovalRequest, 'approvalId' | 'toolCallId' | 'toolName' | 'about' | 'path' | 'agent'>): JSONObject {
  return { approvalId, ...callOf(call), ...(about !== undefined && { about }) }
}

interface EventOfBackground {
  readonly type: string
  readonly runId?: string
  readonly background?: readonly string[]
  readonly source?: string
  readonly agent?: readonly string[]
  readonly pendingToolCalls?: readonly PendingToolCall[]
}

/**
 * Returns the notices for events of child runs: background work that asks a question or needs help. They go to the webhooks of
 * the root session. Throws `invalid-input` unless it gets a session and a list of `{ event }`.
 */
export function noticesOfEvents(session: SessionRecord, events: readonly NewEvent[]): readonly NoticeDraft[] {
  checkRecord('session', session)
  inputChecks.checkItems('events', needed(events), (path, item) => {
    inputChecks.checkRequired(path, item, 'an object with event', (given) => isFields(given) && isFields(given['event']))
  })
  const told = events.map(({ event }) => event as unknown as EventOfBackground)
  const asked = told.filter(({ background }) => background !== undefined)
  const pendingToolCalls = asked.flatMap(({ type, pendingToolCalls = [] }) =>
    type === 'awaiting-tools' ? pendingToolCalls.map(callOf) : [],
  )
  const pendingApprovals = asked.flatMap((event) =>
    event.type === 'approval-requested' ? [approvalOf(event as unknown as ApprovalRequest)] : [],
  )
  const held = told.filter(({ type, source, agent }) => type === 'error' && source === 'definition' && agent !== undefined)
  const base = (runId: string | undefined): JSONObject => ({ ...placeOf(session), ...(runId !== undefined && { runId }) })
  const asks = pendingToolCalls.length + pendingApprovals.length > 0
  const asksForMore = pendingApprovals.some(({ about }) => about === 'budget')
  return [
    ...(asksForMore ? [{ type: 'budget', body: { ...base(asked[0]?.runId), status: 'waiting-for-user' } } as const] : []),
    ...(asks
      ? [
          {
            type: 'awaiting-answer',
            body: { ...base(asked[0]?.runId), status: 'waiting-for-user', pendingToolCalls, pendingApprovals },
          } as const,
        ]
      : []),
    ...held.map(
      ({ runId }) =>
        ({ type: 'needs-recovery', body: { ...base(runId), status: 'needs-recovery', reason: 'definition-changed' } }) as const,
    ),
  ]
}

/** Returns the notice `expired` for a session whose life has ended. Throws `invalid-input` for a value that is not a record. */
export function noticeOfExpiry(session: SessionRecord): NoticeDraft {
  checkRecord('session', session)
  return { type: 'expired', body: placeOf(session) }
}
