import type { AnswersContext, BridgeEvent, CancelContext, PromptContext, SessionContext } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'
import type { CloseMeta } from '../../worker/meta.ts'
import { bridgeErrorOf, isRequestError } from '../../worker/wire-error.ts'
import type { DiscoveredAgent, WorkerHealth } from '../executor.ts'
import type { WorkerHost } from './connection.ts'
import { createInstances } from './instances.ts'
import type { WorkerSettings } from './options.ts'
import { promptEvents } from './prompt-events.ts'
import { sessionMeta } from './session-meta.ts'
import type { LiveWorker } from './supervisor.ts'
import { callError, lostError, notResumable } from './worker-errors.ts'
import { createWorkerSessions } from './worker-sessions.ts'
import type { WorkerSession } from './worker-sessions.ts'

/** One configured worker: its processes and the sessions in them. */
export interface Worker {
  readonly health: WorkerHealth
  start(): void
  /** Resolves after all processes have exited. */
  stop(): Promise<void>
  kill(): void
  /** Resolves once none of its processes is starting. */
  settled(): Promise<unknown>
  describe(): DiscoveredAgent
  open(session: SessionContext, how: 'create' | 'attach'): Promise<void>
  prompt(request: PromptContext): AsyncIterable<BridgeEvent>
  answer(request: AnswersContext): Promise<boolean>
  cancel(request: CancelContext): Promise<void>
  close(session: SessionContext, meta: CloseMeta): Promise<void>
}

export function createWorker(settings: WorkerSettings, host: WorkerHost): Worker {
  const { id, cwd } = settings
  const sessions = createWorkerSessions(id, host)
  const instances = createInstances({ settings, host, sessions, onLost: failSessions })

  /** For sessions with a running prompt, the prompt itself reports the failure. */
  function failSessions(instance: number, reason: string): void {
    for (const session of sessions.of(instance)) {
      if (session.reopens) continue
      if (!session.turn) host.sessionFailed(session.context.sessionId, lostError(id, reason, { durable: false, sessionValid: false }))
      sessions.remove(session)
    }
  }

  function sessionOf({ sessionId }: SessionContext): WorkerSession {
    const session = sessions.get(sessionId)
    if (!session) throw new BridgeError('NOT_FOUND', 'Session not found', { details: { sessionId } })
    return session
  }

  /** Opens the session in the process and returns its id there. A durable agent knows an attached session by its bridge session id. */
  async function openIn({ hello, connection }: LiveWorker, context: SessionContext, how: 'create' | 'attach'): Promise<string> {
    const resumes = how === 'attach' || context.conversationId !== context.sessionId
    if (resumes && !hello.durable) throw notResumable(id)
    const meta = sessionMeta(context, hello.ours)
    if (how === 'create') return connection.newSession(cwd, meta)
    await connection.reopen('resume', context.sessionId, cwd, meta)
    return context.sessionId
  }

  async function open(context: SessionContext, how: 'create' | 'attach'): Promise<void> {
    if (how === 'attach' && sessions.get(context.sessionId)) return
    await instances.withLeast(async (live, instance) => {
      const acpId = await openIn(live, context, how).catch((error: unknown) => Promise.reject(callError(error, id, 'none')))
      sessions.add({ context, instance, acpId, generation: live.generation, reopens: live.hello.reopens !== undefined })
    })
  }

  async function close(context: SessionContext, meta: CloseMeta): Promise<void> {
    const session = sessions.get(context.sessionId)
    if (!session) return
    sessions.remove(session)
    const live = instances.live(session.instance)
    if (live?.generation !== session.generation || !live.hello.closes) return
    await live.connection.closeSession(session.acpId, meta).catch((error: unknown) => {
      // The session was lost with its process.
      if (isRequestError(error)) throw bridgeErrorOf(error, { agentId: id, sessionId: context.sessionId })
    })
  }

  return {
    get health() {
      return { id, ...instances.health() }
    },
    start: () => instances.start(),
    stop: () => instances.stop(),
    kill: () => instances.kill(),
    settled: () => instances.settled(),
    describe: () => instances.describe(),
    open,
    prompt: (request) => promptEvents({ request, session: sessionOf(request.session), sessions, settings, host, instances }),
    async answer(request) {
      const { turn } = sessionOf(request.session)
      if (turn?.requestId !== request.requestId) return false
      return turn.answer(request).catch((error: unknown) => Promise.reject(callError(error, id, 'unknown')))
    },
    async cancel({ session, requestId, reason }) {
      const turn = sessions.get(session.sessionId)?.turn
      // If the process is gone, there is nothing to cancel.
      if (turn?.requestId === requestId) await turn.cancel(reason).catch(() => {})
    },
    close,
  }
}
