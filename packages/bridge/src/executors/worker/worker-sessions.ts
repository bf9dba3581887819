import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import type { SessionContext } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'
import type { ExecutorHost } from '../executor.ts'
import type { Turn } from './turn.ts'
import type { Update } from './updates.ts'

/** A session of the bridge and its place in a worker. */
export interface WorkerSession {
  readonly context: SessionContext
  readonly instance: number
  /** Session id in the worker's process. Never leaves this executor. */
  readonly acpId: string
  /** Number of the start whose process has the session. */
  generation: number
  /** Whether it can continue in a new process. */
  readonly reopens: boolean
  turn?: Turn | undefined
}

/** The sessions of one worker. Messages of its processes are routed by instance, generation and ACP session id. */
export interface WorkerSessions {
  readonly size: number
  get(sessionId: string): WorkerSession | undefined
  add(session: WorkerSession): void
  remove(session: WorkerSession): void
  of(instance: number): readonly WorkerSession[]
  /** Assigns the session to this generation once `reopen` has resolved. Events that the worker replays meanwhile are ignored. */
  move(session: WorkerSession, generation: number, reopen: () => Promise<void>): Promise<void>
  /** Routes an update to its prompt. An update that is late or has no prompt is dropped and logged. */
  onUpdate(instance: number, generation: number, update: Update, bytes: number): Promise<void> | undefined
  onPermission(instance: number, generation: number, request: RequestPermissionRequest): Promise<RequestPermissionResponse>
}

export function createWorkerSessions(workerId: string, host: ExecutorHost): WorkerSessions {
  const byId = new Map<string, WorkerSession>()
  const byWire = new Map<string, WorkerSession>()
  const reopening = new Set<string>()

  function drop(what: string, session: WorkerSession | undefined): void {
    const ids = session && { sessionId: session.context.sessionId }
    host.notify({ type: 'dropped', what, workerId, ...ids })
  }

  return {
    get size() {
      return byId.size
    },
    get: (sessionId) => byId.get(sessionId),
    add(session) {
      if (byWire.has(wireKey(session))) throw sameId(workerId)
      byId.set(session.context.sessionId, session)
      byWire.set(wireKey(session), session)
    },
    remove(session) {
      session.turn?.leave()
      if (byId.get(session.context.sessionId) === session) byId.delete(session.context.sessionId)
      byWire.delete(wireKey(session))
    },
    of: (instance) => [...byId.values()].filter((session) => session.instance === instance),
    async move(session, generation, reopen) {
      const key = wireKey({ ...session, generation })
      reopening.add(key)
      await reopen().finally(() => reopening.delete(key))
      byWire.delete(wireKey(session))
      session.generation = generation
      byWire.set(key, session)
    },
    onUpdate(instance, generation, update, bytes) {
      const key = wireKey({ instance, generation, acpId: update.acpId })
      const turn = byWire.get(key)?.turn
      const isCurrent = update.requestId === undefined || update.requestId === turn?.requestId
      if (turn && isCurrent) return turn.onUpdate(update, bytes)
      // Workers also send updates between prompts. Only lost parts of an answer are reported.
      if ((update.event || update.part) && !reopening.has(key)) drop('update', byWire.get(key))
      return undefined
    },
    onPermission(instance, generation, request) {
      const session = byWire.get(wireKey({ instance, generation, acpId: request.sessionId }))
      if (session?.turn) return session.turn.onPermission(request)
      drop('permission request', session)
      return Promise.resolve({ outcome: { outcome: 'cancelled' } })
    },
  }
}

function wireKey({ instance, generation, acpId }: Pick<WorkerSession, 'instance' | 'generation' | 'acpId'>): string {
  return `${instance} ${generation} ${acpId}`
}

function sameId(workerId: string): BridgeError {
  return new BridgeError('UPSTREAM', `Worker ${workerId} gave two sessions the same id`, { details: { agentId: workerId } })
}
