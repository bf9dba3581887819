import { z } from '@hono/zod-openapi'
import type { McpService } from '../mcp/mcp-service.ts'
import { ProblemError } from '../problems.ts'
import type { Services } from '../services.ts'
import { defineRoute, type Call, type Route } from './route.ts'

/** One or several MCP messages. The protocol itself validates their content. */
const messages = z.union([z.looseObject({}), z.array(z.looseObject({}))]).openapi({ description: 'JSON-RPC' })

type Messages = z.output<typeof messages>

/** Tools that start work. Other tools read, stop or answer, and must work when the limit is reached. */
const workTools: readonly unknown[] = ['tasks_delegate', 'sessions_prompt']

const answers = [{ status: 200, description: 'As the protocol has it.', mediaType: 'application/json' }] as const

export function mcpRoutes(services: Services, mcp: McpService): readonly Route[] {
  const path = '/mcp'
  const shared = { path, scope: 'mcp', rate: 'control', answers } as const
  const plain = async ({ request, principal, body }: Call<unknown, unknown>) => ({ response: await mcp.answer(request, principal, body) })
  /** Reserves a stream before the answer is known, because the answer may be a stream. */
  const streamed = (call: Call<unknown, unknown>) =>
    services.streams.withPlace(call.principal, undefined, async (place) => {
      const { response } = await plain(call)
      const { body, status, headers } = response
      if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) return { response }
      const held = place.hold(body)
      return { response: new Response(held.body, { status, headers }), held }
    })
  return [
    defineRoute({
      ...shared,
      method: 'post',
      summary: 'Hand work to the agents of the bridge: MCP over HTTP.',
      body: messages,
      problems: ['draining', 'too-many-streams'],
      async handle(call) {
        for (let left = startsOfWork(call.body); left > 0; left--) await admitWork(services, call.principal)
        return asksForAnswer(call.body) ? streamed(call) : plain(call)
      },
    }),
    defineRoute({ ...shared, method: 'get', summary: 'What MCP asks for by GET.', problems: ['too-many-streams'], handle: streamed }),
    defineRoute({ ...shared, method: 'delete', summary: 'What MCP asks for by DELETE.', handle: plain }),
  ]
}

async function admitWork({ isDraining, rateLimits }: Services, principal: Call<unknown, unknown>['principal']): Promise<void> {
  if (isDraining()) throw new ProblemError('draining', 'Send it again: another process handles it.')
  await rateLimits.take('work', principal)
}

/** Returns true if a message expects an answer. Notifications and results need no stream, and may end work that has one. */
function asksForAnswer(body: Messages): boolean {
  return [body].flat().some((message) => 'method' in message && 'id' in message)
}

function startsOfWork(body: Messages): number {
  return [body].flat().filter(({ method, params }) => method === 'tools/call' && startsWork(params as CallParams | null)).length
}

type CallParams = { readonly name?: unknown; readonly arguments?: { readonly answers?: unknown } | null }

/** Returns true if the call starts work. An answer goes to work that has already started. */
function startsWork(params: CallParams | null): boolean {
  return workTools.includes(params?.name) && params?.arguments?.answers === undefined
}
