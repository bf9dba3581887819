import { randomUUID } from 'node:crypto'
import type { AgentContext, ContentBlock, PromptRequest, PromptResponse, StopReason as AcpStopReason } from '@agentclientprotocol/sdk'
import { RequestError } from '@agentclientprotocol/sdk'
import type { BridgeAgent, BridgeEvent, PromptContext, PromptResult } from '../agent.ts'
import { eventsOf } from '../executors/in-process.ts'
import { causeText } from '../redact-cause.ts'
import { askApprovals } from './ask-approvals.ts'
import { bowlineMeta, recordOf, withBowline } from './meta.ts'
import type { AnswerMeta } from './meta.ts'
import { inContext, requestErrorOf } from './served-sessions.ts'
import type { ServedSession } from './served-sessions.ts'
import { createSender } from './update-sender.ts'
import type { UpdateSender } from './update-sender.ts'

/** Agent, session and client of one `session/prompt`. */
export interface PromptService {
  readonly agent: BridgeAgent
  readonly session: ServedSession
  readonly client: AgentContext
  readonly ours: boolean
}

/**
 * Runs a prompt and returns its response. A cancelled prompt gets the response that the protocol requires, whatever the agent
 * returns.
 */
export async function servePrompt(service: PromptService, params: PromptRequest): Promise<PromptResponse> {
  const { session } = service
  if (session.current) throw RequestError.invalidRequest(undefined, 'the session has a prompt under way')
  const abort = new AbortController()
  const request = promptContext(session, params, abort.signal)
  const ended = Promise.withResolvers<void>()
  session.current = { requestId: request.requestId, abort, ended: ended.promise }
  try {
    return await answer(service, request)
  } catch (error) {
    if (abort.signal.aborted) return { stopReason: 'cancelled' }
    tell(error)
    throw requestErrorOf(error)
  } finally {
    session.current = undefined
    ended.resolve()
  }
}

async function answer(service: PromptService, request: PromptContext): Promise<PromptResponse> {
  const { client, session, ours } = service
  const { sessionId } = session.context
  const sender = createSender({ client, sessionId, requestId: request.requestId, ours })
  const result = await runAgent(service, request, sender)
  if (!ours && result) return answerForeign(service, request, sender, result)
  const stopReason = request.abortSignal.aborted ? 'cancelled' : acpStopReason(result)
  if (!result || (await sender.sendLong(result))) return { stopReason }
  const meta: AnswerMeta = { result }
  return { stopReason, ...withBowline(meta) }
}

/** Runs the agent once: sends its events and returns its result. */
async function runAgent(
  { agent, session, client, ours }: PromptService,
  request: PromptContext,
  sender: UpdateSender,
): Promise<PromptResult | undefined> {
  const inside = <T>(work: () => T): T => inContext(session.context, request.requestId, work)
  const events = inside(() => eventsOf(agent.onPrompt(request))[Symbol.asyncIterator]())
  for (let step = await inside(() => events.next()); !step.done; step = await inside(() => events.next())) {
    const event: BridgeEvent = step.value
    if (event.type === 'result') {
      // Events after the result are ignored.
      void inside(async () => events.return?.()).catch(() => {})
      return event.result
    }
    if (event.type === 'needs-input' && !ours) void askOpen(agent, session, request, client, event.pending).catch(tell)
    else await sender.send(event)
  }
  return undefined
}

/** Answers a plain ACP client, which cannot read results: sends the text, and asks for approvals with the protocol's own requests. */
async function answerForeign(
  service: PromptService,
  request: PromptContext,
  sender: UpdateSender,
  result: PromptResult,
): Promise<PromptResponse> {
  const { client, session } = service
  if (request.abortSignal.aborted) return { stopReason: 'cancelled' }
  if (result.stopReason === 'needs_input' && result.pending) {
    const answers = await askApprovals(client, session.context.sessionId, result.pending)
    if (answers) return answer(service, { ...request, prompt: '', answers })
  }
  if (!sender.hasText && result.text !== '') await sender.send({ type: 'text-delta', delta: result.text })
  return { stopReason: acpStopReason(result) }
}

async function askOpen(
  agent: BridgeAgent,
  session: ServedSession,
  request: PromptContext,
  client: AgentContext,
  pending: Parameters<typeof askApprovals>[2],
): Promise<void> {
  const { requestId } = request
  const answers = await askApprovals(client, session.context.sessionId, pending)
  if (answers) await inContext(session.context, requestId, () => agent.onAnswers?.({ session: session.context, requestId, answers }))
}

function promptContext({ context }: ServedSession, params: PromptRequest, abortSignal: AbortSignal): PromptContext {
  const meta = bowlineMeta(params)
  return {
    session: context,
    requestId: typeof meta['requestId'] === 'string' ? meta['requestId'] : randomUUID(),
    prompt: params.prompt.map(textOf).join(''),
    ...(Array.isArray(meta['answers']) && { answers: meta['answers'] }),
    runtimeParams: recordOf(meta['runtimeParams']),
    ...(typeof meta['deadlineAt'] === 'number' && { deadlineAt: meta['deadlineAt'] }),
    abortSignal,
  }
}

function textOf(block: ContentBlock): string {
  if (block.type === 'text') return block.text
  if (block.type === 'resource_link') return block.uri
  return block.type === 'resource' && 'text' in block.resource ? block.resource.text : ''
}

function acpStopReason(result: PromptResult | undefined): AcpStopReason {
  const stopReason = result?.stopReason ?? 'end_turn'
  return stopReason === 'needs_input' || stopReason === 'other' ? 'end_turn' : stopReason
}

function tell(error: unknown): void {
  process.stderr.write(`${causeText(error)}\n`)
}
