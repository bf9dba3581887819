import type { AgentInput } from '@bowline/agent-loop'
import { inputChecks } from '../arguments.ts'
import { SessionError, type SessionErrorCode } from '../errors.ts'
import { parseCursor, printCursor, type Position } from '../contract/cursor.ts'
import { readLog, type LogReading } from '../log/read-log.ts'
import { checkPageRequest, checkRunsQuery } from '../contract/check-query.ts'
import type { SessionRecord } from '../contract/records.ts'
import { acceptInput, openSession, type Accepted } from './accept.ts'
import { SessionAccess, type SessionIdentity } from './access.ts'
import { resolveCall, submitAnswers } from './answers.ts'
import {
  checkCompactOptions,
  checkEventsOptions,
  checkExportOptions,
  checkForkOptions,
  checkInputOptions,
  checkKillOptions,
  checkLabelsOptions,
  checkMessagesOptions,
  checkOverlayOptions,
  checkResolveOptions,
  checkSendOptions,
  checkStopOptions,
  checkSubmitOptions,
  checkSwitchOptions,
} from './check-options.ts'
import type { SessionContext } from './context.ts'
import { compactSession } from './tree/compact.ts'
import { copyDecision, copyGrant, decideApproval, type GivenDecision } from './decisions.ts'
import { endSession } from './end-session.ts'
import { forkSession, identityOfCopy } from './tree/fork.ts'
import { parseResolution, parseResults } from './given-answers.ts'
import { branchesOf, labelEntry, labelsOf } from './tree/labels.ts'
import type { NewInput } from './new-run.ts'
import { readRun, unknownRun } from './rest-watch.ts'
import { driverOf } from './run-driver.ts'
import { restingIn, runHandle } from './run-handle.ts'
import { sessionState } from './session-state.ts'
import { overlayInput, steerInput } from './steer.ts'
import { recoverRun } from './recover-run.ts'
import { runAbove } from './route.ts'
import { nothingToStop, stopSession } from './stop.ts'
import { createSchedule, sessionSchedules } from './schedules/schedules.ts'
import { switchSession } from './tree/switch.ts'
import { exportSession } from './transfer/export.ts'
import type { ApprovalReceipt, EventsOptions, MessagesOptions, RunHandle, Session } from './types.ts'
import type { LogEvents } from '../contract/log-events.ts'
import { listRuns, toSessionInfo, usageOf } from './views.ts'

const defaultPageSize = 100

/** Creates a session handle. It holds only the key: every method reads from the store. */
export function createSession(context: SessionContext, identity: SessionIdentity): Session {
  const { key } = identity
  const access = new SessionAccess(context.store, identity)
  const required = (): Promise<SessionRecord> => access.required()
  const decide = async (decision: GivenDecision): Promise<ApprovalReceipt & { readonly run: RunHandle }> => {
    const from = logEnd(await access.writable())
    const { receipt, runId } = await decideApproval(context, key, decision)
    return {
      ...receipt,
      run: receipt.repeated ? runHandle(context, session, runId, 'duplicate') : runHandle(context, session, runId, 'queued', from),
    }
  }

  const session: Session = {
    key,
    open: async () => toSessionInfo(context.store, await openSession(context, access)),
    async info() {
      const record = await foundOrNull(() => access.find())
      return record && toSessionInfo(context.store, record)
    },
    async send(input, options = {}) {
      checkSendOptions('send.options', options)
      const driver = driverOf(options)
      const { runId, accepted, from } = await sendInput(context, access, input, { ...options, ...(driver && { driver }) })
      const handle = runHandle(context, session, runId, accepted, from, from !== undefined)
      return driver && accepted === 'queued' ? driver.handleOf(handle) : handle
    },
    async steer(input, options = {}) {
      checkInputOptions('steer.options', options)
      const { runId, accepted, from } = await steerInput(context, access, input, options)
      return runHandle(context, session, runId, accepted, from, from !== undefined)
    },
    async followUp(input, options = {}) {
      checkInputOptions('followUp.options', options)
      const { runId, accepted, from } = await acceptInput(context, access, input, { ...options, onBusy: 'queue', kind: 'follow-up' })
      return runHandle(context, session, runId, accepted, from, from !== undefined)
    },
    async run(runId) {
      inputChecks.checkName('runId', runId)
      await required()
      const read = await context.store.readRun(runId)
      if (read.status === 'missing' || read.value.session !== key) {
        throw new SessionError('unknown-run', `The session ${key} has no run ${runId}.`)
      }
      return runHandle(context, session, runId, 'duplicate')
    },
    async overlay(input, options = {}) {
      checkOverlayOptions('overlay.options', options)
      await overlayInput(context, access, input, options)
    },
    async stop(options = {}) {
      checkStopOptions('stop.options', options)
      const record = await access.find()
      return record ? stopSession(context, record, options) : nothingToStop
    },
    async submitToolResults(results, options) {
      checkSubmitOptions('submitToolResults.options', options)
      const given = parseResults(results)
      const from = logEnd(await access.writable())
      const { runId, ...receipt } = await submitAnswers(context, key, given, options)
      // A submission of repeats only starts no new segment: its stream is the run so far.
      const repeatsOnly = receipt.accepted.length === 0
      const ofSession = await runAbove(context.store, key, runId)
      return {
        ...receipt,
        run: runHandle(context, session, ofSession, repeatsOnly ? 'duplicate' : 'queued', repeatsOnly ? undefined : from),
      }
    },
    async approve(approvalId, options = {}) {
      return decide(copyDecision('approve', approvalId, options))
    },
    async grant(approvalId, amount) {
      return decide(copyGrant(approvalId, amount))
    },
    async deny(approvalId, options = {}) {
      return decide(copyDecision('deny', approvalId, options))
    },
    async resolveTool(toolCallId, resolution, options = {}) {
      checkResolveOptions('resolveTool.options', options)
      const given = parseResolution(toolCallId, resolution, options.path)
      const from = logEnd(await access.writable())
      const runId = await resolveCall(context, key, toolCallId, given)
      return runHandle(context, session, await runAbove(context.store, key, runId), 'queued', from)
    },
    async recover(runId, decision) {
      inputChecks.checkName('runId', runId)
      inputChecks.checkRequired('decision', decision, 'continue or stop', (given) => given === 'continue' || given === 'stop')
      const from = logEnd(await access.writable())
      await recoverRun(context, key, runId, decision)
      return runHandle(context, session, await runAbove(context.store, key, runId), 'queued', from)
    },
    async kill(options = {}) {
      checkKillOptions('kill.options', options)
      const { id } = await access.required()
      const receipt = await endSession(context, key, 'kill', { incarnation: id, reason: options.reason })
      access.close()
      return receipt
    },
    async delete() {
      const record = await foundOrNull(() => access.find(), ['session-missing', 'session-deleted'])
      if (record) await deleteOnce(context, record)
    },
    usage: async () => usageOf(await required()),
    schedule: (options) => createSchedule(context, access, options),
    schedules: sessionSchedules(context, access),
    state: sessionState(context.store, () => access.writable(), required),
    async fork(options = {}) {
      checkForkOptions('fork.options', options)
      const copy = new SessionAccess(context.store, { ...identity, agentNamed: false, key: await forkSession(context, access, options) })
      return createSession(context, identityOfCopy(await copy.required()))
    },
    async switchTo(entryId, options = {}) {
      if (entryId !== null) inputChecks.checkName('entryId', entryId)
      checkSwitchOptions('switchTo.options', options)
      await switchSession(context, access, entryId, options)
      return toSessionInfo(context.store, await required())
    },
    async branches(page = {}) {
      checkPageRequest('branches.options', page)
      return branchesOf(context.store, await required(), page)
    },
    label: (entryId, text) => labelEntry(context, access, entryId, text),
    async labels(options = {}) {
      checkLabelsOptions('labels.options', options)
      const { leaf } = await required()
      return labelsOf(context.store, key, options.leaf ?? leaf)
    },
    async compact(options = {}) {
      checkCompactOptions('compact.options', options)
      return compactSession(context, access, options)
    },
    export(options = {}) {
      checkExportOptions('export.options', options)
      return exportSession(context.store, required, options)
    },
    events(options = {}) {
      const given = typeof options === 'string' ? { cursor: options } : options
      checkEventsOptions('events.options', given)
      return sessionEvents(context, required, key, given)
    },
    async messages(options = {}) {
      checkMessagesOptions('messages.options', options)
      return messagesOf(context, await required(), options)
    },
    async runs(query = {}) {
      checkRunsQuery('runs.options', query)
      await required()
      return listRuns(context.store, key, query)
    },
  }
  return session
}

/** Accepts an input. The options, or else the runtime, decide what happens if the session is busy. */
function sendInput(context: SessionContext, access: SessionAccess, input: AgentInput, options: NewInput): Promise<Accepted> {
  const { onBusy = context.onBusy } = options
  return onBusy === 'steer' ? steerInput(context, access, input, options) : acceptInput(context, access, input, { ...options, onBusy })
}

/** Joins a deletion in progress. A failed one can be repeated. */
async function deleteOnce(context: SessionContext, { key, id }: SessionRecord): Promise<void> {
  const { deletions } = context
  const deletion = deletions.get(id) ?? endSession(context, key, 'delete', { incarnation: id }).finally(() => deletions.delete(id))
  deletions.set(id, deletion)
  await deletion
}

function logEnd(session: SessionRecord): Position {
  return { seq: session.nextSeq - 1, n: 0 }
}

/** Returns null for a missing session. A session of another owner counts as missing. */
async function foundOrNull<T>(read: () => Promise<T>, gone: readonly SessionErrorCode[] = ['session-missing']): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (SessionError.isInstance(error) && gone.includes(error.code)) return null
    throw error
  }
}

/** Throws at once for an invalid cursor. Other errors appear at the first read. */
function sessionEvents(
  context: SessionContext,
  required: () => Promise<SessionRecord>,
  key: string,
  { cursor, live = true, runId, abortSignal, bufferBytes }: EventsOptions,
): LogEvents {
  const position = cursor === undefined ? undefined : parseCursor(cursor)
  const reading: Omit<LogReading, 'isResting'> = {
    store: context.store,
    liveLog: context.live,
    clock: context.clock,
    key,
    from: async () => {
      const { firstSeq } = await required()
      if (runId !== undefined && (await readRun(context.store, runId)).session !== key) throw unknownRun(runId)
      return position ?? { seq: firstSeq - 1, n: 0 }
    },
    live,
    ...(runId === undefined ? {} : { runId }),
    remote: context.remote?.(),
    abortSignal,
    bufferBytes,
  }
  return { [Symbol.asyncIterator]: () => readLog({ ...reading, isResting: restingIn(context, key) }) }
}

async function messagesOf(
  context: SessionContext,
  record: SessionRecord,
  { leaf = record.leaf ?? undefined, before, limit }: MessagesOptions,
) {
  const page = await context.store.readPath(record.key, {
    leaf: leaf ?? null,
    limit: limit ?? defaultPageSize,
    ...(before === undefined ? {} : { before }),
  })
  const oldest = page.items.at(-1)?.id
  return {
    items: page.items.flatMap((entry) => (entry.type === 'message' ? entry.message : [])).reverse(),
    ...(page.next === undefined || oldest === undefined ? {} : { next: oldest }),
    cursor: printCursor(record.nextSeq - 1),
  }
}
