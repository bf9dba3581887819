import type { StopRequest } from '@bowline/client'
import type { StopOptions } from '@bowline/sessions'
import { allows, type Principal } from '../auth/principal.ts'
import { admitResults } from '../execute/admit-results.ts'
import { checkOutput } from '../execute/check-parts.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { runReference, stopReceipt, submissionReceipt } from '../wire/answers.ts'
import { recoverRequest, resolveRequest, stopRequest, toolResultsRequest } from '../wire/session-requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

export function stopRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/stop',
    summary: 'Stop a run. The request is durable before it is answered. `kill` ends all that is open, and needs sessions:delete.',
    scope: 'sessions:write',
    audit: 'stop',
    rate: 'control',
    body: stopRequest,
    answers: [
      { status: 200, description: 'What settled.', schema: stopReceipt },
      { status: 202, description: 'The run is still ending.', schema: stopReceipt },
    ],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-run'],
    async handle({ principal, params, body }) {
      if (body.mode === 'kill') checkMayKill(principal)
      const { session } = await ownedSession(services, principal, params.id)
      const receipt = await (body.mode === 'kill' ? session.kill() : session.stop(stopOptions(body)))
      return { status: receipt.state === 'pending' ? 202 : 200, body: receipt }
    },
  })
}

function stopOptions({ mode: _mode, ...options }: Exclude<StopRequest, { readonly mode: 'kill' }>): StopOptions {
  return options
}

function checkMayKill(principal: Principal): void {
  if (!allows(principal, 'sessions:delete')) throw new ProblemError('scope-missing', 'kill needs the scope sessions:delete.')
}

export function toolResultsRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/tool-results',
    summary: 'Give the results of calls that wait for them, all or none.',
    scope: 'sessions:write',
    work: true,
    rate: 'control',
    body: toolResultsRequest,
    answers: [{ status: 200, description: 'Which were taken, known already, and are still missing.', schema: submissionReceipt }],
    problems: [
      'url-not-allowed',
      'option-not-allowed',
      'session-missing',
      'session-expired',
      'session-deleted',
      'tool-result-conflict',
      'unknown-tool-call',
      'invalid-input',
    ],
    async handle({ principal, params, body }) {
      const { receipt } = await admitResults(await ownedSession(services, principal, params.id), body.results)
      return { status: 200, body: receipt }
    },
  })
}

export function resolveRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/tool-calls/{toolCallId}/resolve',
    summary: 'Say what became of a call whose outcome is unknown; the run goes on.',
    scope: 'approvals',
    audit: 'resolve',
    work: true,
    rate: 'control',
    body: resolveRequest,
    answers: [{ status: 200, description: 'The run that goes on.', schema: runReference }],
    problems: [
      'url-not-allowed',
      'option-not-allowed',
      'session-missing',
      'session-expired',
      'session-deleted',
      'tool-result-conflict',
      'unknown-tool-call',
      'invalid-input',
    ],
    async handle({ principal, params, body: { path, ...resolution } }) {
      if ('output' in resolution) checkOutput(resolution.output)
      if ('result' in resolution) checkOutput(resolution.result)
      const { session } = await ownedSession(services, principal, params.id)
      const { runId } = await session.resolveTool(params.toolCallId ?? '', resolution, path ? { path } : {})
      return { status: 200, body: { runId } }
    },
  })
}

export function recoverRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/runs/{runId}/recover',
    summary:
      'Decide about a run, of the session or of a subagent below it, that waits because its agent is defined otherwise than when it began.',
    scope: 'approvals',
    audit: 'recover',
    work: true,
    rate: 'control',
    body: recoverRequest,
    answers: [{ status: 200, description: 'The run.', schema: runReference }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'unknown-run', 'invalid-input'],
    async handle({ principal, params: { id, runId = '' }, body: { decision } }) {
      const { session } = await ownedSession(services, principal, id)
      await session.recover(runId, decision)
      return { status: 200, body: { runId } }
    },
  })
}
