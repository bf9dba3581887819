import { isDelta } from '@bowline/agent-loop/events'
import type { ExecuteRequest, RunAhead, ToolResultInput } from '@bowline/client'
import type { SubmissionReceipt } from '@bowline/agent-loop'
import type { LoggedEvent } from '@bowline/sessions'
import { admitMessage } from '../execute/admit-message.ts'
import { admitResults, startOfSegment } from '../execute/admit-results.ts'
import { followCompletion } from '../execute/completion.ts'
import type { GivenTo } from '../execute/submit-input.ts'
import { userMessageOf } from '../execute/user-message.ts'
import { validate } from '../http/validate.ts'
import { faulty, ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { shortForm } from '../sse/frame-form.ts'
import type { StreamPlace } from '../sse/open-streams.ts'
import { delegationDepth, executeRequest, idempotencyKey } from '../wire/requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Answer, type Call, type Route } from './route.ts'

/** Run whose input is durable, and the position from which its events are read. */
interface Accepted {
  readonly sessionId: string
  readonly run: GivenTo
  readonly submission?: SubmissionReceipt
  readonly cursor?: string
  readonly behind?: RunAhead
}

export function executeRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/execute',
    summary: 'Give an input to a session, new or old, and stream the run.',
    scope: 'sessions:write',
    work: true,
    body: executeRequest,
    headers: [
      { name: 'Idempotency-Key', description: 'Repeats with the same key and input join the same run.' },
      { name: 'X-Bowline-Depth', description: 'How often the work was handed on before it came here; kept with a new session.' },
    ],
    answers: [{ status: 200, description: 'The events of the run; the last frame is execute-complete.', mediaType: 'text/event-stream' }],
    problems: [
      'context-required',
      'client-tools-not-allowed',
      'model-not-allowed',
      'option-not-allowed',
      'url-not-allowed',
      'session-missing',
      'session-expired',
      'session-deleted',
      'unknown-agent',
      'busy',
      'session-exists',
      'tool-result-conflict',
      'entry-too-large',
      'id-reused',
      'unknown-tool-call',
      'invalid-input',
      'too-many-runs',
      'too-many-streams',
      'queue-full',
    ],
    handle: (call: Call<unknown, ExecuteRequest>) =>
      services.streams.withPlace(call.principal, call.body.sessionId, async (place) => {
        const accepted = await accept(services, call)
        if (call.body.sessionId === undefined) place.ofSession(accepted.sessionId)
        return streamRun(services, call, accepted, place)
      }),
  })
}

function accept(services: Services, call: Call<unknown, ExecuteRequest>): Promise<Accepted> {
  const { input, ...request } = call.body
  const key = idempotencyKeyOf(call.request)
  if (isResults(input)) return acceptResults(services, call, input)
  const message = { ...withDepth(call.request, request), input: userMessageOf(input) }
  return admitMessage(services, call.principal, message, key, call.request.signal)
}

async function acceptResults(
  services: Services,
  { principal, body }: Call<unknown, ExecuteRequest>,
  results: readonly ToolResultInput[],
): Promise<Accepted> {
  if (body.sessionId === undefined) throw misplaced('sessionId', 'Tool results need the session that waits for them: set sessionId.')
  const owned = await ownedSession(services, principal, body.sessionId)
  if (body.context) throw new ProblemError('session-exists', 'A context is for new sessions only: leave it out.')
  const { run, receipt } = await admitResults(owned, results)
  const repeatsOnly = receipt.accepted.length === 0
  const repeated = repeatsOnly ? await services.runtime.run(run.runId) : null
  const cursor = repeated ? await startOfSegment(owned, repeated) : owned.info.cursor
  return { sessionId: owned.sessionId, run, submission: receipt, cursor }
}

function streamRun(
  services: Services,
  call: Call<unknown, ExecuteRequest>,
  { run, sessionId, submission, cursor, behind }: Accepted,
  place: StreamPlace,
): Answer<never> {
  const { runtime, limits } = services
  const { streamBufferBytes: bufferBytes } = limits
  const completion = followCompletion(runtime, { sessionId, runId: run.runId, ...(submission && { submission }) })
  const stream = place.open({
    open: (abortSignal, from) => run.events({ abortSignal, bufferBytes, ...(from !== undefined && { cursor: from }) }),
    ...(cursor !== undefined && { cursor }),
    ...(call.body.options?.deltas === 'short' && { form: shortForm }),
    select: (event: LoggedEvent) => {
      completion.see(event)
      return call.body.options?.deltas !== false || !isDelta(event)
    },
    complete: (reached) => completion.frame(reached),
    toFrame: (error) => services.streamError(error, call),
  })
  const ahead = behind && { 'x-behind-run-id': behind.runId, 'x-behind-status': behind.status }
  return { status: 200, stream, headers: { 'x-session-id': sessionId, 'x-run-id': run.runId, ...ahead } }
}

function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key')
  return key === null ? undefined : validate(idempotencyKey, key, 'invalid-query', [], 'Idempotency-Key')
}

/** Field of the metadata in which the tools of the session find the depth. */
const depthField = 'bowline.depth'

function withDepth<T extends Pick<ExecuteRequest, 'context'>>(request: Request, body: T): T {
  const given = request.headers.get('x-bowline-depth')
  if (given === null || !body.context) return body
  const depth = validate(delegationDepth, given, 'invalid-query', [], 'X-Bowline-Depth')
  return { ...body, context: { ...body.context, metadata: { ...body.context.metadata, [depthField]: depth } } }
}

function isResults(input: ExecuteRequest['input']): input is readonly ToolResultInput[] {
  return Array.isArray(input)
}

function misplaced(path: string, message: string): ProblemError {
  return faulty('invalid-body', [{ path, message }])
}
