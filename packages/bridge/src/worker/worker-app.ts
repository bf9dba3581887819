import { RequestError, agent as acpAgent } from '@agentclientprotocol/sdk'
import type { AgentApp, InitializeRequest, InitializeResponse } from '@agentclientprotocol/sdk'
import type { Answer, BridgeAgent, CancelReason, CloseReason } from '../agent.ts'
import { proofOf } from './handshake.ts'
import { acpVersion, answerMethod, bowlineMeta, pingMethod, recordOf, wireVersion, withBowline } from './meta.ts'
import type { AnswerParams, WorkerMeta } from './meta.ts'
import { servePrompt } from './served-prompt.ts'
import { inContext, requestErrorOf } from './served-sessions.ts'
import type { ServedSession, ServedSessions } from './served-sessions.ts'

export interface WorkerAppOptions {
  readonly agent: BridgeAgent
  readonly sessions: ServedSessions
  readonly token: string | undefined
  readonly maxConcurrentSessions?: number | undefined
}

/** Serves an agent over the Agent Client Protocol. A bridge is recognised by its challenge; other clients get the plain protocol. */
export function workerApp(options: WorkerAppOptions): AgentApp {
  const { agent, sessions } = options
  let ours = false
  return acpAgent({ name: agent.info.id })
    .onRequest('initialize', ({ params }) => {
      ours = typeof bowlineMeta(params)['challenge'] === 'string'
      return greeting(options, params)
    })
    .onRequest('session/new', async ({ params }) => ({ sessionId: (await sessions.create(params)).context.sessionId }))
    .onRequest('session/resume', ({ params }) => {
      if (!agent.durable) throw RequestError.methodNotFound('session/resume')
      sessions.resume(params.sessionId, params)
      return {}
    })
    .onRequest('session/prompt', ({ params, client }) =>
      servePrompt({ agent, session: sessions.get(params.sessionId), client, ours }, params),
    )
    .onNotification('session/cancel', ({ params }) => cancel(agent, sessions.get(params.sessionId), bowlineMeta(params)))
    .onRequest('session/close', async ({ params }) => {
      const session = sessions.get(params.sessionId)
      const { reason, detach } = bowlineMeta(params)
      if (detach === true) sessions.forget(session)
      else await sessions.close(session, (reason ?? 'closed') as CloseReason)
    })
    .onRequest(answerMethod, answerParams, ({ params }) => takeAnswers(agent, sessions.get(params.sessionId), params))
    .onRequest(pingMethod, recordOf, () => ({}))
}

function greeting({ agent, token, maxConcurrentSessions }: WorkerAppOptions, params: InitializeRequest): InitializeResponse {
  const { challenge } = bowlineMeta(params)
  const { id, name, version } = agent.info
  const meta: WorkerMeta = {
    protocol: wireVersion,
    ...(token !== undefined && typeof challenge === 'string' && { proof: proofOf(token, challenge) }),
    agent: agent.info,
    capabilities: agent.capabilities ?? [],
    ...(agent.providers && { providers: agent.providers }),
    ...(maxConcurrentSessions !== undefined && { maxConcurrentSessions }),
    durable: agent.durable ?? false,
    ping: true,
  }
  return {
    protocolVersion: acpVersion,
    agentInfo: { name: id, ...(name && { title: name }), version: version ?? '0' },
    agentCapabilities: { sessionCapabilities: { close: {}, ...(agent.durable && { resume: {} }) } },
    ...withBowline(meta),
  }
}

/** Cancels the current prompt. A cancel for an earlier request is ignored. */
async function cancel(agent: BridgeAgent, session: ServedSession, meta: Readonly<Record<string, unknown>>): Promise<void> {
  const { context, current } = session
  if (!current || (meta['requestId'] !== undefined && meta['requestId'] !== current.requestId)) return
  const { requestId, abort } = current
  const reason = (meta['reason'] ?? 'caller') as CancelReason
  abort.abort()
  await inContext(context, requestId, () => agent.onCancel?.({ session: context, requestId, reason }))
}

async function takeAnswers(
  agent: BridgeAgent,
  { context, current }: ServedSession,
  params: AnswerParams,
): Promise<{ readonly taken: boolean }> {
  const { requestId, answers } = params
  if (current?.requestId !== requestId || !agent.onAnswers) return { taken: false }
  try {
    await inContext(context, requestId, () => agent.onAnswers?.({ session: context, requestId, answers }))
  } catch (error) {
    throw requestErrorOf(error)
  }
  return { taken: true }
}

function answerParams(params: unknown): AnswerParams {
  const { sessionId, requestId, answers } = recordOf(params)
  return { sessionId: String(sessionId), requestId: String(requestId), answers: (Array.isArray(answers) ? answers : []) as Answer[] }
}
