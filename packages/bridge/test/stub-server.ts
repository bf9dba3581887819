import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { later } from './runtime-support.ts'

export interface StubServer {
  readonly url: string
  readonly seen: string[]
  close(): Promise<void>
}

const summary = { id: 'writer', capabilities: ['text'], clientTools: 'none', models: [], default: true }

/** Starts a server that lists these agents. `answer` handles all other requests. */
export async function stubServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void = () => {},
  agentIds: readonly string[] = ['writer'],
): Promise<StubServer> {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim())
    const agents = agentIds.map((id) => ({ ...summary, id }))
    if (request.url === '/api/agents') response.setHeader('content-type', 'application/json').end(JSON.stringify({ agents }))
    else answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  later(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close }
}

export function problem(status: number, code: string, headers: Record<string, string> = {}) {
  return (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/problem+json', ...headers })
    response.end(
      JSON.stringify({ type: 'x', title: 'x', status, detail: 'secret words', instance: '/', code, requestId: 'q', retryable: false }),
    )
  }
}
