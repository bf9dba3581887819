import type { BridgeEvent, PromptContext } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'
import type { ExecutorHost } from '../executor.ts'
import type { Instances } from './instances.ts'
import type { WorkerSettings } from './options.ts'
import { sessionMeta } from './session-meta.ts'
import type { LiveWorker } from './supervisor.ts'
import { LostWorker, startTurn } from './turn.ts'
import { lostError, notReopened } from './worker-errors.ts'
import type { WorkerSession, WorkerSessions } from './worker-sessions.ts'

export interface PromptOptions {
  readonly request: PromptContext
  readonly session: WorkerSession
  readonly sessions: WorkerSessions
  readonly instances: Instances
  readonly settings: WorkerSettings
  readonly host: ExecutorHost
}

/** Returns the events of one prompt, across restarts of the worker. `return()` also ends a pending read. */
export function promptEvents(options: PromptOptions): AsyncIterable<BridgeEvent> {
  const leaving = new AbortController()
  const stop = AbortSignal.any([leaving.signal, options.request.abortSignal])
  const events = readPrompt(options, stop)
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return: () => {
        leaving.abort()
        options.session.turn?.leave()
        return events.return(undefined)
      },
    }),
  }
}

/** Repeats the prompt in a new process only for durable agents, which then continue the work. */
async function* readPrompt(options: PromptOptions, stop: AbortSignal): AsyncGenerator<BridgeEvent, undefined> {
  const { session, settings } = options
  for (let losses = 0; ; losses += 1) {
    const live = await processOf(options, stop)
    if (!live) return
    try {
      yield* readTurn(options, live)
      return
    } catch (error) {
      if (!(error instanceof LostWorker)) throw error
      // The prompt was cancelled, so there is nothing to repeat.
      if (stop.aborted) return
      if (!live.hello.durable || losses >= settings.restart.maxRestarts) {
        throw lostError(settings.id, error.message, { durable: live.hello.durable, sessionValid: session.reopens })
      }
    }
  }
}

async function* readTurn({ request, session, settings, host }: PromptOptions, live: LiveWorker): AsyncGenerator<BridgeEvent> {
  const { sessionId } = request.session
  const { requestId } = request
  const onLate = (): void => host.notify({ type: 'dropped', what: 'answer', sessionId, requestId, workerId: settings.id })
  const turn = startTurn({ live, acpId: session.acpId, request, permissions: settings.permissions, onLate })
  session.turn = turn
  try {
    for (let step = await turn.next(); !step.done; step = await turn.next()) yield step.value
  } finally {
    turn.leave()
    session.turn = undefined
  }
}

/** Returns the process that has the session. Undefined if the prompt was cancelled first. */
async function processOf(options: PromptOptions, stop: AbortSignal): Promise<LiveWorker | undefined> {
  const { instances, session } = options
  const live = await untilAborted(instances.ready(session.instance), stop)
  if (!live || live.generation === session.generation) return live
  try {
    await reopen(options, live)
    return live
  } catch (error) {
    // That process is gone too.
    if (live.gone.aborted) return processOf(options, stop)
    throw notReopened(error, options.settings.id)
  }
}

async function reopen({ session, sessions, settings }: PromptOptions, { connection, hello, generation }: LiveWorker): Promise<void> {
  const { reopens } = hello
  if (!reopens) throw new BridgeError('UPSTREAM', `Worker ${settings.id} no longer resumes sessions`)
  const meta = sessionMeta(session.context, hello.ours)
  await sessions.move(session, generation, () => connection.reopen(reopens, session.acpId, settings.cwd, meta))
}

function untilAborted<T>(work: Promise<T>, stop: AbortSignal): Promise<T | undefined> {
  if (stop.aborted) return Promise.resolve(undefined)
  const stopped = Promise.withResolvers<undefined>()
  const onStop = (): void => stopped.resolve(undefined)
  stop.addEventListener('abort', onStop, { once: true })
  return Promise.race([work, stopped.promise]).finally(() => stop.removeEventListener('abort', onStop))
}
