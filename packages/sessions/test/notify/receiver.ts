import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { NoticeType, RuntimeWebhook, WebhookOptions } from '@bowline/sessions'
import { onTestFinished } from 'vitest'

export const secret = 'a secret of sixteen characters'
const everyEvent: readonly NoticeType[] = ['settled', 'awaiting-answer', 'needs-recovery', 'budget', 'expired']

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: {
    readonly id: string
    readonly type: string
    readonly n: number
    readonly session: string
    readonly runId?: string
  } & Readonly<Record<string, unknown>>
}

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly received: readonly Received[]
  /** Resolves when it has received this many. */
  count(number: number): Promise<readonly Received[]>
  close(): Promise<void>
}

/** Starts a real server on loopback that receives webhooks. It ends with the test. */
export async function receiver(
  answer: (response: ServerResponse, received: Received) => void = (response) => void response.writeHead(204).end(),
  address = '127.0.0.1',
): Promise<Receiver> {
  const received: Received[] = []
  let news = Promise.withResolvers<void>()
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const one = { headers: request.headers, text, body: JSON.parse(text) as Received['body'] }
      received.push(one)
      answer(response, one)
      news.resolve()
      news = Promise.withResolvers()
    })
  }
  const server = createServer(listener).listen(0, address)
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${address}:${port}/hook`,
    port,
    received,
    close,
    async count(number) {
      while (received.length < number) await news.promise
      return received
    },
  }
}

/** Allows loopback for these tests. */
export const onLoopback: WebhookOptions = { http: true, allow: ['127.0.0.1'], random: () => 1 - Number.EPSILON }

export function to(url: string, fields: Partial<RuntimeWebhook> = {}): RuntimeWebhook {
  return { url, events: everyEvent, secret, ...fields }
}

/** A webhook that cannot be reached: its notices stay in the store. */
export const nowhere = { notify: to('https://hooks.example/'), webhooks: { resolve: () => Promise.resolve([]) } } as const
