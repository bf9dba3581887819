import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HeldModel {
  readonly url: string
  /** Continues the answer to this message. `fail …` waits in each of its first two attempts. */
  release(text: string, attempt?: number): void
  close(): void
}

interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content: string | readonly { readonly text?: string }[] }[]
}

/**
 * Starts a model with the OpenAI chat protocol. `hold …` is answered in two halves, the second one only after `release`. For
 * `fail …`, the first attempt is cut off, the second is refused, and the third answers. `give up` is always refused, and
 * `wrong key` is refused as a wrong key. `where am I` calls the location tool. All other texts are echoed at once.
 */
export async function startHeldModel(): Promise<HeldModel> {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const gateOf = (text: string): PromiseWithResolvers<void> => {
    const gate = gates.get(text) ?? Promise.withResolvers<void>()
    gates.set(text, gate)
    return gate
  }
  const attempts = new Map<string, number>()
  const server = createServer((request, response) => {
    void readBody(request).then(async (body) => {
      const { messages } = JSON.parse(body) as ChatRequest
      const last = messages.at(-1)
      const text = textOf(messages.findLast(({ role }) => role === 'user'))
      const attempt = (attempts.get(text) ?? 0) + 1
      attempts.set(text, attempt)
      if (text === 'give up') return refuse(response, 500, 'Nobody is here.')
      if (text === 'wrong key') return refuse(response, 401, 'Incorrect API key provided.')
      if (text.startsWith('fail ') && attempt === 2) {
        await gateOf(`${text}/2`).promise
        return refuse(response, 503, 'Too many at once.')
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      if (text === 'where am I' && last?.role === 'user') {
        const call = { index: 0, id: `call_${messages.length}`, type: 'function', function: { name: 'get_location', arguments: '{}' } }
        return end(response, { tool_calls: [call] }, 'tool_calls')
      }
      write(response, { role: 'assistant', content: `## The first half\n\nof ${text}` })
      if (text.startsWith('hold ')) await gateOf(`${text}/1`).promise
      if (text.startsWith('fail ') && attempt === 1) {
        await gateOf(`${text}/1`).promise
        return response.destroy()
      }
      return end(response, { content: ' and the second half.' }, 'stop')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    release: (text, attempt = 1) => gateOf(`${text}/${attempt}`).resolve(),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function textOf(message: ChatRequest['messages'][number] | undefined): string {
  const content = message?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function write(response: ServerResponse, delta: object, finish: string | null = null): void {
  const chunk = {
    id: 'chat',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'held',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
  response.write(`data: ${JSON.stringify(chunk)}\n\n`)
}

function refuse(response: ServerResponse, status: number, message: string): ServerResponse {
  return response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message, type: 'provider_error' } }))
}

function end(response: ServerResponse, delta: object, finish: string): ServerResponse {
  write(response, delta)
  write(response, {}, finish)
  return response.end('data: [DONE]\n\n')
}
