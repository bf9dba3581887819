import { Agent, request, type IncomingMessage } from 'node:http'
import type { PacedAnswer } from './paced-model.ts'

export interface SseReader {
  readonly response: IncomingMessage
  /** Resolves with the end of the answer. Rejects if it was cut off. */
  readonly ended: Promise<void>
  leave(): void
}

const agent = new Agent({ keepAlive: false, maxSockets: Infinity })

/** Reads a stream like a minimal SSE reader. `onFrame` gets the data of each frame. */
export async function readEvents(url: string, path: string, onFrame: (data: string) => void, body?: object): Promise<SseReader> {
  const response = await ask(url, path, body)
  let rest = ''
  response.setEncoding('latin1')
  response.on('data', (text: string) => {
    const frames = (rest + text).split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) onFrame(frame.slice(frame.indexOf('data: ') + 'data: '.length))
  })
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  response.once('close', () => (response.complete ? resolve() : reject(new Error(`The stream ${path} was cut`))))
  // After `leave` the outcome does not matter.
  ended.catch(() => undefined)
  return { response, ended, leave: () => response.destroy() }
}

/** Sends a request. The answer is not read. */
export function ask(url: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const method = body ? 'POST' : 'GET'
  const sent = request(`${url}${path}`, { agent, method, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
    if (response.statusCode === 200) resolve(response)
    else reject(new Error(`${path} was answered with ${response.statusCode}`))
  })
  sent.once('error', reject)
  sent.end(body && JSON.stringify(body))
  return promise
}

export function executeBody(sessionId: string, answer: PacedAnswer, isNew: boolean): object {
  return { sessionId, input: { role: 'user', content: JSON.stringify(answer) }, ...(isNew && { context: {} }) }
}

export const eventsPath = (sessionId: string, query = ''): string => `/api/agent/session/${sessionId}/events${query}`
export const executePath = '/api/agent/execute'

const isTextDelta = '"type":"text-delta"'

/** Returns the times at which the model sent the deltas of this frame. Empty for other frames. */
export function timesIn(data: string): readonly number[] {
  if (!data.includes(isTextDelta)) return []
  const text = (JSON.parse(data) as { readonly delta: string }).delta
  return [...text.matchAll(/\d+\.\d\d /g)].map(([time]) => Number(time))
}

/** Returns the percentile of the values: `share` of them are not above it. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((left, right) => left - right)[Math.ceil(values.length * share) - 1] ?? NaN
}
