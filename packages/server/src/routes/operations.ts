import type { Metrics } from '../observe/metrics.ts'
import type { Services } from '../services.ts'
import { agentList, health, identity, openApiDocument, tenantSpending } from '../wire/answers.ts'
import { defineRoute, type Route } from './route.ts'

export function agentsRoute({ runtime, agents, defaultAgent = runtime.agents[0]?.name }: Services): Route {
  const list = runtime.agents.map(({ name: id = '', ...agent }) => {
    const { capabilities = [], clientTools = 'declared', models = [], ...access } = agents[id] ?? {}
    const description = access.description ?? agent.description
    return {
      id,
      ...(description !== undefined && { description }),
      capabilities,
      clientTools,
      models,
      default: id === defaultAgent,
    }
  })
  return defineRoute({
    method: 'get',
    path: '/api/agents',
    summary: 'List the agents that the server offers.',
    scope: 'agents:read',
    answers: [{ status: 200, description: 'The agents.', schema: agentList }],
    handle: () => ({ status: 200, body: { agents: list } }),
  })
}

export function identityRoute(): Route {
  return defineRoute({
    method: 'get',
    path: '/api/me',
    summary: 'Who the caller is, and what it may do.',
    scope: 'any',
    answers: [{ status: 200, description: 'The caller.', schema: identity }],
    // A verifier may return more fields than the server reports.
    handle: ({ principal: { id, tenant, scopes, expiresAt } }) => ({
      status: 200,
      body: { id, tenant, scopes, ...(expiresAt !== undefined && { expiresAt }) },
    }),
  })
}

/** Reports the budget of the caller's tenant, whatever its scopes. The route exists only with a budget. */
export function spendingRoute({ runtime }: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/tenant/spending',
    summary:
      'What the tenant of the caller has spent and reserved in the present window of its budget, what is left, and when the window ends.',
    scope: 'spending',
    answers: [{ status: 200, description: 'The figures of now.', schema: tenantSpending }],
    handle: async ({ principal }) => ({ status: 200, body: await runtime.tenantSpending(principal.tenant) }),
  })
}

export function healthRoute(): Route {
  return defineRoute({
    method: 'get',
    path: '/healthz',
    summary: 'Whether the process answers. Reads nothing.',
    answers: [{ status: 200, description: 'It does.', schema: health }],
    handle: () => ({ status: 200, body: { status: 'ok' } }),
  })
}

export function readyRoute({ runtime, isDraining }: Services): Route {
  const notReady = { status: 503, body: { status: 'not-ready' } } as const
  return defineRoute({
    method: 'get',
    path: '/readyz',
    summary: 'Whether new work is taken: the store answers, and the server is not going away.',
    answers: [
      { status: 200, description: 'It is.', schema: health },
      { status: 503, description: 'It is not.', schema: health },
    ],
    async handle() {
      if (isDraining()) return notReady
      try {
        await runtime.run('readiness')
        return { status: 200, body: { status: 'ready' } }
      } catch {
        // The answer only says that the store failed. Requests that need the store report the error.
        return notReady
      }
    },
  })
}

export function metricsRoute(metrics: Metrics): Route {
  return defineRoute({
    method: 'get',
    path: '/metrics',
    summary: 'What this process counts, for Prometheus.',
    scope: 'metrics',
    answers: [{ status: 200, description: 'The figures.', mediaType: 'text/plain' }],
    handle: async () => ({ response: new Response(await metrics.text(), { headers: { 'content-type': metrics.contentType } }) }),
  })
}

export function openApiRoute(document: () => object): Route {
  return defineRoute({
    method: 'get',
    path: '/openapi.json',
    summary: 'This API as OpenAPI 3.1.',
    answers: [{ status: 200, description: 'The document.', schema: openApiDocument }],
    handle: () => ({ status: 200, body: document() }),
  })
}
