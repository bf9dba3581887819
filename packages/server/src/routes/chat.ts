import type { ChatHistory } from '@bowline/client/chat'
import type { RunInfo, Session } from '@bowline/sessions'
import { admitChat, turnOf, type ChatTurn } from '../chat/admit-chat.ts'
import { ChatForm } from '../chat/chat-form.ts'
import { chatRequest, type ChatRequest } from '../chat/chat-request.ts'
import { readConversation } from '../chat/conversation.ts'
import { refusalText } from '../chat/refusal-text.ts'
import { followCompletion, isMoving } from '../execute/completion.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { sessionIdOf } from '../session-keys.ts'
import { logStart } from '../session-log.ts'
import type { StreamPlace } from '../sse/open-streams.ts'
import { toProblemError } from '../to-problem-error.ts'
import { chatHistory, stopReceipt } from '../wire/answers.ts'
import { chatStopRequest, messagesQuery, resumeQuery } from '../wire/session-requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Answer, type Call, type Route } from './route.ts'

/** Returns the routes for pages that use the AI SDK. A conversation is a session, and a message is a turn. */
export function chatRoutes(services: Services): readonly Route[] {
  return [sendRoute(services), historyRoute(services), resumeRoute(services), stopRoute(services)]
}

const mediaType = 'text/event-stream'

function sendRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/chat',
    summary: 'Take the last message of a conversation in the form of the AI SDK, and stream the answer in its form.',
    scope: 'sessions:write',
    work: true,
    refusalText,
    body: chatRequest,
    answers: [{ status: 200, description: 'A UI message stream; it ends with [DONE], or it was cut.', mediaType }],
    problems: [
      ...(['option-not-allowed', 'url-not-allowed', 'session-missing', 'unknown-agent', 'unknown-run', 'unknown-entry', 'busy'] as const),
      ...([
        'session-expired',
        'session-deleted',
        'tool-result-conflict',
        'approval-conflict',
        'unknown-approval',
        'cursor-expired',
      ] as const),
      ...(['entry-too-large', 'id-reused', 'unknown-tool-call', 'invalid-input', 'too-many-runs', 'too-many-streams'] as const),
    ],
    handle: (call: Call<unknown, ChatRequest>) =>
      services.streams.withPlace(call.principal, call.body.id, async (place) => {
        return streamTurn(services, call, await admitChat(services, call.principal, call.body, call.request.signal), place)
      }),
  })
}

function historyRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/chat/{id}',
    summary: 'Read a conversation as messages of the AI SDK, newest page first; an open answer as far as it goes.',
    scope: 'sessions:read',
    rate: 'control',
    query: messagesQuery,
    answers: [{ status: 200, description: 'The messages, oldest first. An unknown conversation has none.', schema: chatHistory }],
    problems: ['session-expired', 'session-deleted', 'unknown-entry'],
    async handle(call) {
      const owned = await knownSession(services, call)
      const body = owned ? await readConversation(services, owned, call.query) : nothingSaid(call.params.id)
      return { status: 200, body }
    },
  })
}

function nothingSaid(id = ''): ChatHistory {
  return { id, messages: [], queued: [], cursor: logStart }
}

function resumeRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/chat/{id}/stream',
    summary: 'Stream the answer that is under way from its beginning, or the one of `run`, also when that has ended since.',
    scope: 'sessions:read',
    query: resumeQuery,
    refusalText,
    answers: [
      { status: 200, description: 'A UI message stream.', mediaType },
      { status: 204, description: 'No answer is under way, or it waits for the page.' },
    ],
    problems: ['session-expired', 'session-deleted', 'unknown-run', 'too-many-streams'],
    async handle(call) {
      const owned = await knownSession(services, call)
      if (!owned) return { status: 204 }
      const run = call.query.run === undefined ? owned.info.openRun : await runOf(services, owned.session, call.query.run)
      if (!run || (run.endedAt === undefined && !isMoving(run))) return { status: 204 }
      const turn = turnOf(owned.session, run)
      return services.streams.withPlace(call.principal, owned.sessionId, (place) =>
        Promise.resolve(streamTurn(services, call, turn, place)),
      )
    },
  })
}

function stopRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/chat/{id}/stop',
    summary: 'Stop the answer that is under way and what waits behind it, or one run. The request is durable before it is answered.',
    scope: 'sessions:write',
    audit: 'stop',
    rate: 'control',
    body: chatStopRequest,
    answers: [{ status: 200, description: 'What settled; while its state is `pending` the run is still ending.', schema: stopReceipt }],
    problems: ['session-expired', 'session-deleted', 'unknown-run'],
    async handle(call) {
      const owned = await knownSession(services, call)
      if (!owned) return { status: 200, body: nothingToStop }
      // Runs queued after the answer would block the next message.
      const { body } = call
      return { status: 200, body: await owned.session.stop(body.runId === undefined ? { ...body, scope: 'all' } : body) }
    },
  })
}

async function runOf({ runtime }: Services, { key }: Session, runId: string): Promise<RunInfo> {
  const run = await runtime.run(runId)
  if (run?.session !== key) throw new ProblemError('unknown-run', 'This conversation has no answer with this id.')
  return run
}

const nothingToStop = { runId: null, state: 'nothing-to-stop', calls: [], children: [] } as const

/** Returns the session, or undefined if it has no input yet: a page asks for a conversation before its first message. */
async function knownSession(services: Services, { principal, params }: Call<unknown, unknown>) {
  try {
    return await ownedSession(services, principal, params.id)
  } catch (error) {
    if (toProblemError(error).code === 'session-missing') return undefined
    throw error
  }
}

function streamTurn(services: Services, call: Call<unknown, unknown>, turn: ChatTurn, place: StreamPlace): Answer<never> {
  const { session, runId, cursor, knownUntil, hasDecided } = turn
  const { streamBufferBytes: bufferBytes } = services.limits
  const sessionId = sessionIdOf(call.principal.tenant, session.key)
  const completion = followCompletion(services.runtime, { sessionId, runId })
  let hasEnded = false
  const stream = place.open({
    open: (abortSignal, from = cursor) => session.events({ runId, cursor: from, bufferBytes, abortSignal }),
    cursor,
    select: (event) => {
      completion.see(event)
      return true
    },
    // The hooks after the turn add nothing to the message.
    isLast: (event) => {
      if (event.type === 'turn-start' || event.type === 'turn-end') hasEnded = event.type === 'turn-end'
      // A run that never began has no save-point after its end.
      return hasEnded && (event.type === 'save-point' || (event.type === 'turn-end' && event.turn === 0))
    },
    complete: (reached) => completion.frame(reached),
    toFrame: (error) => services.streamError(error, call),
    form: (shared, log) => new ChatForm({ shared, log, sessionId, runId, knownUntil, redaction: services.redaction }),
  })
  return {
    status: 200,
    stream,
    headers: { 'x-vercel-ai-ui-message-stream': 'v1', 'x-session-id': sessionId, 'x-run-id': runId },
    ...(hasDecided && { audit: 'approval' }),
  }
}
