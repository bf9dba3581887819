import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { emptyView, isDelta, reduceEvents } from '@bowline/agent-loop/events'
import type { AgentEvent, RunView, ToolResult } from '@bowline/agent-loop/events'
import type { ExecuteComplete, ExecuteRequest, Problem, SessionView, ToolResultInput } from '../../src/index.ts'
import { positionOf } from '../../src/cursor.ts'
import { answeredSegment, resultOf } from './events.ts'

/** One session on a real HTTP server with the wire protocol: frames, cursors, keys, refusals, and interruptions at any byte. */

export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

interface Frame {
  readonly id: string
  readonly event: AgentEvent
}

export interface Refusal {
  readonly status: number
  readonly code: string
  readonly headers?: Readonly<Record<string, string>>
  readonly retryAfterMs?: number
}

type Reader = (frame: Frame) => void

export class WireServer {
  url = ''
  readonly seen: Seen[] = []
  /** Called for a new run. It adds the events of the run with `add`. */
  onRun: (runId: string, body: ExecuteRequest) => unknown = () => undefined
  onStop: () => void = () => undefined
  /** Held runs in `execute-complete`. */
  heldRuns: ExecuteComplete['heldRuns']
  /** Called first with each request. A returned value is the answer. */
  intercept: (seen: Seen, response: ServerResponse) => Refusal | 'handled' | undefined = () => undefined
  /** Bytes after which each next stream connection is cut. Undefined does not cut it. */
  cuts: (number | undefined)[] = []
  /** Number of bytes per write of a stream. */
  chunkBytes = Infinity
  preamble = ': ready\n\n'
  exists = false
  /** Pending calls of the tool-results route. */
  #pending = new Map<string, { name: string; outcome?: ToolResultInput }>()
  readonly frames: Frame[] = []
  readonly #readers = new Set<Reader>()
  readonly #runs = new Map<string, string>()
  readonly #sockets: Socket[] = []
  readonly #server: Server
  #forgotten = 0
  #seq = 0
  #deltas = 0
  /** Start of the deltas that a reconnecting reader can still get: those after the last durable event. */
  #ringFrom = 0
  answered: ((outcomes: readonly ToolResult[]) => AgentEvent[]) | undefined

  constructor() {
    this.#server = createServer((request, response) => void this.#handle(request, response))
    this.#server.on('connection', (socket) => this.#sockets.push(socket))
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<unknown>((resolve) => this.#server.close(resolve))
  }

  /** From now on, the log begins after the first `count` frames. */
  forget(count: number): void {
    this.#forgotten = count
  }

  /** Destroys all connections. */
  dropStreams(): void {
    this.#server.closeAllConnections()
  }

  /** Assigns numbers to the events and sends them to all readers. */
  add(events: readonly AgentEvent[]): void {
    for (const event of events) {
      const frame = this.#number(event)
      this.frames.push(frame)
      if (event.type === 'awaiting-tools') {
        this.#pending = new Map(event.pendingToolCalls.map((call) => [call.toolCallId, { name: call.toolName }]))
      }
      for (const reader of [...this.#readers]) reader(frame)
    }
  }

  /** Same as `add`, one event after the other, with time for other work in between. */
  async play(events: readonly AgentEvent[]): Promise<void> {
    for (const event of events) {
      this.add([event])
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Returns the view of a reader of the whole log without interruptions. */
  view(): RunView {
    return this.frames.reduce((view, { event }) => reduceEvents(view, event), emptyView)
  }

  /** Resolves when the sockets take no more data without being read. */
  async onceQuiet(): Promise<void> {
    const bytes = (): number => this.#sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0)
    for (let quiet = 0, before = bytes(); quiet < 20; quiet++) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (bytes() !== before) quiet = 0
      before = bytes()
    }
  }

  get openStreams(): number {
    return this.#readers.size
  }

  requests(method: string, ending: string): Seen[] {
    return this.seen.filter((one) => one.method === method && one.path.endsWith(ending))
  }

  #number(event: AgentEvent): Frame {
    if (isDelta(event)) return { id: `${this.#seq}.${++this.#deltas}`, event }
    this.#seq++
    this.#deltas = 0
    this.#ringFrom = this.frames.length
    return { id: `${this.#seq}`, event: { ...event, seq: this.#seq } }
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    const seen: Seen = { method: request.method ?? '', path: url.pathname, query: url.searchParams, headers: request.headers, body }
    this.seen.push(seen)
    const answer = this.intercept(seen, response)
    if (answer === 'handled') return
    if (answer) return refuse(response, answer)
    this.#route(seen, response)
  }

  #route(seen: Seen, response: ServerResponse): void {
    const { path } = seen
    if (path === '/api/agent/execute') return this.#execute(seen, response)
    if (!this.exists) return refuse(response, { status: 404, code: 'session-missing' })
    if (path.endsWith('/events')) return this.#events(seen, response)
    if (path.endsWith('/tool-results')) return this.#toolResults(seen, response)
    if (path.endsWith('/stop')) {
      this.onStop()
      return json(response, { runId: 'r1', state: 'settled', status: 'stopped', calls: [], children: [] })
    }
    return json(response, this.state())
  }

  #execute(seen: Seen, response: ServerResponse): void {
    const body = seen.body as ExecuteRequest
    if (!this.exists && !body.context) return refuse(response, { status: 400, code: 'context-required' })
    const key = String(seen.headers['idempotency-key'])
    const known = this.#runs.get(key)
    if (this.exists && body.context && known === undefined) return refuse(response, { status: 409, code: 'session-exists' })
    const runId = known ?? `r${this.#runs.size + 1}`
    this.exists = true
    this.#runs.set(key, runId)
    const write = this.#stream(response, { 'x-run-id': runId, 'x-session-id': String(body.sessionId) })
    let status = ''
    const give: Reader = ({ id, event }) => {
      if (!('runId' in event) || event.runId !== runId) return
      write(id, event)
      if (event.type === 'turn-end') status = event.status
      if (event.type !== 'save-point') return
      this.#readers.delete(give)
      write(id, {
        type: 'execute-complete',
        sessionId: body.sessionId,
        runId,
        status,
        usage: {},
        ...(this.heldRuns && { heldRuns: this.heldRuns }),
      })
      response.end()
    }
    this.#read(
      response,
      this.frames.filter((frame, place) => this.#inReach(frame, place)),
      give,
    )
    if (known === undefined) this.onRun(runId, body)
  }

  #events(seen: Seen, response: ServerResponse): void {
    const cursor = seen.query.get('cursor') ?? String(seen.headers['last-event-id'] ?? '0')
    const from = positionOf(cursor) ?? { seq: 0, delta: 0 }
    const missed = this.frames.filter((frame, place) => {
      const position = positionOf(frame.id) ?? from
      const isAfter = position.seq > from.seq || (position.seq === from.seq && position.delta > from.delta)
      return isAfter && place >= this.#forgotten && this.#inReach(frame, place)
    })
    const write = this.#stream(response, {})
    this.#read(response, missed, ({ id, event }) => write(id, event))
  }

  #inReach({ event }: Frame, place: number): boolean {
    return !isDelta(event) || place > this.#ringFrom
  }

  #read(response: ServerResponse, missed: readonly Frame[], give: Reader): void {
    this.#readers.add(give)
    response.on('close', () => this.#readers.delete(give))
    for (const frame of missed) give(frame)
  }

  /** Returns a function that writes frames and cuts the connection after its number of bytes. */
  #stream(response: ServerResponse, headers: Record<string, string>): (id: string, event: unknown) => void {
    let leftBytes = this.cuts.shift() ?? Infinity
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...headers })
    const send = (text: string): void => {
      if (response.destroyed || response.writableEnded || leftBytes < 0) return
      const bytes = Buffer.from(text)
      const cut = bytes.length > leftBytes
      const given = cut ? bytes.subarray(0, leftBytes) : bytes
      leftBytes = cut ? -1 : leftBytes - bytes.length
      for (let at = 0; at < given.length; at += this.chunkBytes) response.write(given.subarray(at, at + this.chunkBytes))
      if (cut) response.write('', () => response.destroy())
    }
    send(this.preamble)
    return (id, event) => send(`id: ${id}\ndata: ${JSON.stringify(event)}\n\n`)
  }

  #toolResults(seen: Seen, response: ServerResponse): void {
    const { results } = seen.body as { results: ToolResultInput[] }
    const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
    const calls = results.map((result) => ({ result, call: this.#pending.get(result.toolCallId) }))
    if (calls.some(({ call }) => !call)) return refuse(response, { status: 422, code: 'unknown-tool-call' })
    if (calls.some(({ result, call }) => call?.outcome && !same(call.outcome, result))) {
      return refuse(response, { status: 409, code: 'tool-result-conflict' })
    }
    const isNew = calls.filter(({ call }) => !call?.outcome)
    for (const { call, result } of isNew) if (call) call.outcome = result
    const entries = [...this.#pending]
    const missing = entries.filter(([, call]) => !call.outcome).map(([id]) => id)
    json(response, {
      accepted: isNew.map(({ result }) => result.toolCallId),
      repeated: calls.filter((one) => !isNew.includes(one)).map(({ result }) => result.toolCallId),
      missing,
    })
    if (missing.length === 0 && isNew.length > 0 && this.answered) {
      this.add(this.answered(entries.map(([toolCallId, call], index) => outcomeOf(toolCallId, call.name, call.outcome, index))))
    }
  }

  state(): SessionView {
    const view = this.view()
    const { status, outcome, runId } = view
    return {
      sessionId: 's1',
      agent: 'demo',
      ...(status && { status }),
      ...(outcome && { outcome }),
      messages: view.messages as SessionView['messages'],
      hasMore: false,
      pendingToolCalls: view.pendingToolCalls,
      pendingApprovals: view.pendingApprovals,
      ...(runId !== undefined && status !== undefined ? { run: { runId, status, ...(outcome && { outcome }), attempts: 1 } } : {}),
      usage: view.usage,
      children: { usage: {} },
      total: { usage: view.usage },
      cursor: `${this.#seq}`,
      createdAt: 1,
      updatedAt: 2,
      metadata: {},
    }
  }
}

function outcomeOf(toolCallId: string, toolName: string, outcome: ToolResultInput | undefined, index: number): ToolResult {
  const value = outcome && 'output' in outcome ? JSON.stringify(outcome.output) : outcome && 'error' in outcome ? outcome.error : ''
  return resultOf({ toolCallId, toolName, input: {}, path: [], agent: [] }, value, index)
}

export function resumedBy(runId: string, pieces: readonly string[]): (outcomes: readonly ToolResult[]) => AgentEvent[] {
  return (outcomes) => answeredSegment({ runId, turn: 1 }, 1, outcomes, pieces)
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function refuse(response: ServerResponse, { status, code, headers = {}, retryAfterMs }: Refusal): void {
  const problem: Problem = {
    type: `urn:bowline:problem:${code}`,
    title: code,
    status,
    detail: `refused: ${code}`,
    instance: '/',
    code,
    requestId: 'q1',
    retryable: status === 429 || status === 503,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers })
  response.end(JSON.stringify(problem))
}
