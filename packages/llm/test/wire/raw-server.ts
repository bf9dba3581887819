import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { JSONObject } from '../../src/index.ts'
import type { WireOptions } from './wires.ts'

/** One chunk of the body, a gate that the test opens, or a broken connection. */
export type RawStep = string | Uint8Array | Promise<unknown> | { readonly destroy: true }

/** Response to one request. */
export interface RawAnswer {
  /** Default 200. */
  readonly status?: number
  /** Default: headers of an event stream. Names must be in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Each string or array is one HTTP chunk, and clients see it as one read, however TCP packs it. A promise delays the rest until
   * it resolves; as the first step, it also delays the headers.
   */
  readonly body?: readonly RawStep[]
  /** Default `end`. `open`: nothing more is sent. `no-headers`: nothing is sent at all. */
  readonly then?: 'end' | 'open' | 'no-headers'
}

/** A received request, and the end of its connection. */
export interface RawRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: JSONObject
  /** Resolves once either side has closed the socket. */
  readonly closed: Promise<void>
}

export interface RawServer extends WireOptions {
  /** Requests of the running test. */
  readonly requests: readonly RawRequest[]
  /** Sets the responses of the next requests, in order. A request without one gets status 599. */
  answer(...answers: readonly RawAnswer[]): void
  /** Resolves with the request of this number, from 0, once it has arrived. */
  request(index: number): Promise<RawRequest>
}

/** A promise that a test resolves. */
export interface Gate extends Promise<void> {
  open(): void
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>()
  return Object.assign(promise, { open: resolve })
}

/**
 * A loopback server for the tests of one file, which sends given bytes at given moments. After each test, the socket of every
 * request must close by itself: a call that leaves one open fails its test.
 */
export function useRawServer(): RawServer {
  const answers: RawAnswer[] = []
  const requests: RawRequest[] = []
  const waiting: (() => void)[] = []
  const server = createServer((request, response) => {
    receive(request, response, answers, (received) => {
      requests.push(received)
      for (const resume of waiting.splice(0)) resume()
    }).catch((error: unknown) => response.destroy(error as Error))
  })
  server.on('connection', (socket: Socket) => void socket.setNoDelay(true))
  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
  afterEach(async () => {
    const open = await openAfter(requests)
    answers.length = 0
    requests.length = 0
    expect(open, 'requests whose sockets the test left open').toEqual([])
  })
  afterAll(async () => {
    // After an abort, fetch opens a spare connection without a request. It is not a leak. It stays open for the next test, because
    // fetch in older Node versions waits forever if its spare connection was closed.
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
    server.closeAllConnections()
    await closed
  })
  return {
    fetch,
    requests,
    answer: (...more) => void answers.push(...more),
    async request(index) {
      for (;;) {
        const request = requests[index]
        if (request) return request
        await new Promise<void>((resolve) => void waiting.push(resolve))
      }
    },
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
  }
}

/** Returns the requests whose sockets are still open after the test. Only a failing test waits for the time limit. */
async function openAfter(requests: readonly RawRequest[]): Promise<RawRequest[]> {
  const open = new Set(requests)
  const allClosed = Promise.all(requests.map((request) => request.closed.then(() => open.delete(request))))
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise((resolve) => void (timer = setTimeout(resolve, 2_000)))
  await Promise.race([allClosed, limit])
  clearTimeout(timer)
  return [...open]
}

async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  answers: RawAnswer[],
  record: (request: RawRequest) => void,
): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const closed = whenClosed(request.socket)
  record({
    path: request.url ?? '',
    headers: request.headers,
    body: JSON.parse(Buffer.concat(chunks).toString()) as JSONObject,
    closed,
  })
  await send(response, answers.shift() ?? { status: 599, body: ['no answer was prepared'] }, closed)
}

async function send(response: ServerResponse, answer: RawAnswer, closed: Promise<void>): Promise<void> {
  const { status = 200, headers = { 'content-type': 'text/event-stream' }, body = [], then = 'end' } = answer
  if (then === 'no-headers') return
  response.writeHead(status, { ...headers, connection: 'close' })
  for (const step of body) {
    if (step instanceof Promise) await Promise.race([step, closed])
    else if (typeof step !== 'string' && 'destroy' in step) return void response.destroy()
    else response.write(step)
  }
  if (then === 'end') response.end()
  else response.flushHeaders()
}

function whenClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => (socket.destroyed ? resolve() : void socket.once('close', () => resolve())))
}
