import type { Services } from '../services.ts'
import { admitResults } from '../execute/admit-results.ts'
import { runReference, stopReceipt, submissionReceipt } from '../wire/answers.ts'
import { stopRequest, toolResolution, toolResultsRequest } from '../wire/requests.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

export function stopRoute(services: Services): Route {
  return defineRoute({
    method: 'post',
    path: '/api/agent/session/{id}/stop',
    summary: 'Stop a run. The request is durable before it is answered.',
    scope: 'sessions:write',
    audit: 'stop',
    rate: 'control',
    body: stopRequest,
    answers: [
      { status: 200, description: 'What settled.', schema: stopReceipt },
      { status: 202, description: 'The run is still ending.', schema: stopReceipt },
    ],
    problems: ['session-missing', 'unknown-run'],
    async handle({ principal, params, body: { mode: _mode, ...options } }) {
      const { session } = await ownedSession(services, principal, params.id)
      const receipt = await session.stop(options)
      return { status: receipt.state === 'pending' ? 202 : 200, body: receipt }
    },
  })
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
    problems: ['url-not-allowed', 'option-not-allowed', 'session-missing', 'tool-result-conflict', 'unknown-tool-call', 'invalid-input'],
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
    body: toolResolution,
    answers: [{ status: 200, description: 'The run that goes on.', schema: runReference }],
    problems: ['session-missing', 'tool-result-conflict', 'unknown-tool-call', 'invalid-input'],
    async handle({ principal, params, body }) {
      const { session } = await ownedSession(services, principal, params.id)
      const { runId } = await session.resolveTool(params.toolCallId ?? '', body)
      return { status: 200, body: { runId } }
    },
  })
}
