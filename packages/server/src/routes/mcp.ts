import { z } from '@hono/zod-openapi'
import type { McpService } from '../mcp/mcp-service.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { defineRoute, type Call, type Route } from './route.ts'

/** A message of MCP, or several. What is in them the protocol itself judges. */
const messages = z.union([z.looseObject({}), z.array(z.looseObject({}))]).openapi({ description: 'JSON-RPC' })

type Messages = z.output<typeof messages>

/** The tools that start work. What looks, ends or answers must get through when there is no room for more. */
const workTools: readonly unknown[] = ['tasks_delegate', 'sessions_prompt']

const answers = [{ status: 200, description: 'As the protocol has it.', mediaType: 'application/json' }] as const

export function mcpRoutes(services: Services, mcp: McpService): readonly Route[] {
  const path = '/mcp'
  const shared = { path, scope: 'mcp', rate: 'control', answers } as const
  const answer = async ({ request, principal }: Call<unknown, unknown>) => ({ response: await mcp.answer(request, principal) })
  return [
    defineRoute({
      ...shared,
      method: 'post',
      summary: 'Hand work to the agents of the bridge: MCP over HTTP.',
      body: messages,
      problems: ['draining'],
      async handle({ request, principal, body }) {
        for (let left = startsOfWork(body); left > 0; left--) await admitWork(services, principal)
        return { response: await mcp.answer(request, principal, body) }
      },
    }),
    defineRoute({ ...shared, method: 'get', summary: 'What MCP asks for by GET.', handle: answer }),
    defineRoute({ ...shared, method: 'delete', summary: 'What MCP asks for by DELETE.', handle: answer }),
  ]
}

async function admitWork({ isDraining, rateLimits }: Services, principal: Call<unknown, unknown>['principal']): Promise<void> {
  if (isDraining()) throw new ProblemError('draining', 'Send it again: another process takes it.')
  await rateLimits.take('work', principal)
}

function startsOfWork(body: Messages): number {
  return [body].flat().filter(({ method, params }) => method === 'tools/call' && workTools.includes((params as { name?: unknown } | null)?.name)).length
}
