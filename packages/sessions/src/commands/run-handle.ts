import { lookForOutput } from '@bowline/agent-loop'
import { parseCursor, type Position } from '../contract/cursor.ts'
import type { RunRecord } from '../contract/records.ts'
import { asLogged, statusOfRun } from '../contract/run-status.ts'
import { SessionError } from '../errors.ts'
import { readLog, type LogReading } from '../log/read-log.ts'
import { answerOf, lastAnswerIn, messagesOf } from '../writer/run-messages.ts'
import { checkResultOptions, checkRunEventsOptions, checkRunStopOptions } from './check-options.ts'
import type { SessionContext } from './context.ts'
import type { RunHandle, RunResult, Session } from './types.ts'
import { isAtRest, runAhead, toRunInfo } from './views.ts'
import { readRun, restWatch } from './rest-watch.ts'
import { restWithin, waitForRest } from './wait-for-rest.ts'

/** Creates a handle of a run of any process. Iterating starts at `from`, by default at the first event of the run. */
export function runHandle(
  context: SessionContext,
  session: Session,
  runId: string,
  accepted: RunHandle['accepted'],
  from?: Position,
  isQueuedHere = false,
): RunHandle {
  /** If the run is gone, `info` throws if its session is gone too. Otherwise the run was pruned. */
  const found = (run: Promise<RunRecord>): Promise<RunRecord> =>
    run.catch(async (error: unknown) => {
      if (SessionError.isInstance(error) && error.code === 'unknown-run') await session.info()
      throw error
    })
  const events: RunHandle['events'] = (options = {}) => {
    checkRunEventsOptions('events.options', options)
    const { cursor, abortSignal, bufferBytes } = options
    const start = cursor === undefined ? from : parseCursor(cursor)
    return readLog({
      store: context.store,
      liveLog: context.live,
      clock: context.clock,
      key: session.key,
      from: async () => start ?? { seq: (await found(readRun(context.store, runId))).firstSeq - 1, n: 0 },
      live: true,
      runId,
      isResting: restingIn(context, session.key),
      isQueuedHere,
      remote: context.remote?.(),
      abortSignal,
      bufferBytes,
    })
  }
  return {
    runId,
    session,
    accepted,
    events,
    [Symbol.asyncIterator]: () => events()[Symbol.asyncIterator](),
    status: async () => statusOfRun(asLogged(await found(readRun(context.store, runId)))),
    async result(options = {}) {
      checkResultOptions('result.options', options)
      const { waitMs } = options
      const isOver = (run: RunRecord): Promise<boolean> => isAtRest(context.store, run)
      const ended =
        waitMs === undefined
          ? waitForRest(context, session.key, runId, isOver)
          : restWithin(context, { id: runId, session: session.key }, waitMs, undefined, isOver)
      return resultOf(context, await found(ended))
    },
    async behind() {
      const ahead = await runAhead(context.store, await found(readRun(context.store, runId)))
      return ahead ? toRunInfo(context.store, ahead) : null
    },
    overlay: (input, options) => session.overlay(input, options),
    async stop(options = {}) {
      checkRunStopOptions('stop.options', options)
      return session.stop({ ...options, runId })
    },
  }
}

/**
 * Returns a check for runs at rest. A missing run counts as one. The first check reads the run, and from then on the watch of the
 * session reads for all.
 */
export function restingIn(context: SessionContext, key: string): LogReading['isResting'] {
  let check: (() => Promise<unknown>) | undefined
  return async (runId, signal) => {
    check ??= restWatch(context, key).follow(runId, (run) => isAtRest(context.store, run), signal)
    try {
      if (!(await check())) return false
    } catch (error) {
      if (!SessionError.isInstance(error) || error.code !== 'unknown-run') throw error
    }
    check = undefined
    return true
  }
}

async function resultOf(context: SessionContext, run: RunRecord): Promise<RunResult> {
  const [messages, info] = await Promise.all([run.turn === undefined ? [] : messagesOf(context.store, run), toRunInfo(context.store, run)])
  const message = lastAnswerIn(messages)
  const output = run.status === 'completed' ? lookForOutput(messages).output : undefined
  return {
    runId: run.id,
    status: run.status,
    ...(run.reason === undefined ? {} : { reason: run.reason }),
    messages,
    ...(message ? { message } : {}),
    text: message ? answerOf(messages) : '',
    ...(output === undefined ? {} : { output }),
    ...(run.error === undefined ? {} : { error: run.error }),
    usage: run.usage,
    ...(run.cost && { cost: run.cost }),
    pendingToolCalls: info.pendingToolCalls,
    pendingApprovals: info.pendingApprovals,
    ...(info.heldRuns && { heldRuns: info.heldRuns }),
  }
}
