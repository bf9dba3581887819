import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { encoded, isCommand, type Command, type CommandAnswer } from './commands.ts'
import type { KvFault } from './types.ts'

export interface KvServerParts {
  readonly token: string
  readonly maxRequestBytes: number
  readonly redis: (command: Command) => Promise<CommandAnswer>
  readonly requests: string[]
  readonly nextFault: () => KvFault | undefined
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Answers one request, or applies the next fault. A client that disconnects is not an error of the server. */
export async function answerRequest(parts: KvServerParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request).catch(() => undefined)
  if (body === undefined) return
  const fault = parts.nextFault()
  parts.requests.push(nameOf(body))
  if (fault && 'lose' in fault && fault.lose === 'before') return void request.socket.destroy()
  if (fault && 'status' in fault) return refuse(response, fault)
  if (fault && 'until' in fault) await fault.until
  const answer = await answerTo(parts, request, body)
  const printed = JSON.stringify(answer.body)
  if (fault && 'lose' in fault && fault.lose === 'after') return void request.socket.destroy()
  response.writeHead(answer.status, { 'content-type': 'application/json', 'upstash-sync-token': String(parts.requests.length) })
  if (fault && 'lose' in fault) {
    // Cuts the answer: the content length announces more.
    response.write(printed.slice(0, printed.length / 2), () => request.socket.destroy())
    return
  }
  response.end(printed)
}

async function answerTo(parts: KvServerParts, request: IncomingMessage, body: string): Promise<Answer> {
  if (request.headers.authorization !== `Bearer ${parts.token}`)
    return { status: 401, body: { error: 'WRONGPASS invalid or missing auth token' } }
  if (request.method !== 'POST') return { status: 405, body: { error: 'ERR method not allowed' } }
  const bytes = Buffer.byteLength(body)
  if (bytes > parts.maxRequestBytes)
    return { status: 400, body: { error: `ERR max request size exceeded. Limit: ${parts.maxRequestBytes} bytes, Actual: ${bytes} bytes` } }
  const given = parsed(body)
  const answered = (answer: CommandAnswer): CommandAnswer =>
    'result' in answer && request.headers['upstash-encoding'] === 'base64' ? { result: encoded(answer.result) } : answer
  if (request.url === '/' && isCommand(given)) {
    const answer = answered(await parts.redis(given))
    return { status: 'error' in answer ? 400 : 200, body: answer }
  }
  if (request.url === '/pipeline' && Array.isArray(given) && given.every(isCommand)) {
    const answers: CommandAnswer[] = []
    for (const command of given) answers.push(answered(await parts.redis(command)))
    return { status: 200, body: answers }
  }
  return { status: 400, body: { error: 'ERR failed to parse command' } }
}

function refuse(
  response: ServerResponse,
  { status, retryAfter, body }: { readonly status: number; readonly retryAfter?: string; readonly body?: string },
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) })
  response.end(body ?? JSON.stringify({ error: 'ERR refused' }))
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return undefined
  }
}

/** Returns the name of the command, or the names of a pipeline. */
function nameOf(body: string): string {
  const given = parsed(body)
  if (isCommand(given)) return String(given[0]).toLowerCase()
  return Array.isArray(given) ? given.map((command) => (isCommand(command) ? String(command[0]).toLowerCase() : '?')).join(' ') : '?'
}
