import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { remoteExecutor } from '../src/index.ts'
import type { BridgeExecutor, BridgeEvent, PromptContext } from '../src/index.ts'
import { later, promptOf } from './runtime-support.ts'
import { problem, stubServer } from './stub-server.ts'
import { recordingLogger } from './support.ts'

const asked = { approvalId: 'a1', toolCallId: 'c', toolName: 'send', input: {}, inputHash: 'h', path: [], agent: [] }
const said = (stopReason: string) => ({
  role: 'assistant',
  id: 'm2',
  at: 2,
  provider: 'p',
  modelId: 'm',
  usage: {},
  timing: { totalMs: 1 },
  stopReason,
  content: [{ type: 'text', text: 'A line.' }],
})
const state = (
  parts: {
    readonly run?: { readonly runId: string; readonly status: string; readonly outcome?: string; readonly attempts: number }
  } & Readonly<Record<string, unknown>>,
) => ({
  sessionId: 's',
  agent: 'writer',
  status: 'completed',
  outcome: 'completed',
  messages: [],
  hasMore: false,
  pendingToolCalls: [],
  pendingApprovals: [],
  usage: { inputTokens: 999 },
  cursor: '9',
  createdAt: 0,
  updatedAt: 0,
  metadata: {},
  ...(parts.run && { status: parts.run.status }),
  ...parts,
})
const waiting = state({
  pendingApprovals: [asked],
  run: { runId: 'r', status: 'waiting-for-user', outcome: 'awaiting-approval', attempts: 1 },
  cursor: '5',
})

type Routes = Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>

const json = (value: unknown) => (_request: IncomingMessage, response: ServerResponse) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
}

/** Starts the run, then breaks the connection. */
function brokenRun(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-run-id': 'r' })
  const start = { type: 'turn-start', at: 1, runId: 'r', turn: 1, seq: 1, source: 'user' }
  response.write(`retry: 0\nid: 1\ndata: ${JSON.stringify(start)}\n\n`, () => response.destroy())
}

/** An executor for a server whose log no longer has the cursor of a reader. */
async function overCutLog(routes: Routes): Promise<BridgeExecutor> {
  const cut: Routes = { 'GET events': problem(410, 'cursor-expired'), ...routes }
  const { url } = await stubServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    const name = /bridge-[^/]+$/.test(path) ? 'state' : path.split('/').at(-1)
    const answer = cut[`${request.method} ${name}`]
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })
  const executor = remoteExecutor({ servers: [{ id: 'far', baseUrl: url, reconnect: { baseMs: 1, maxMs: 1 } }] })
  await executor.start({
    clock: systemClock,
    logger: recordingLogger(),
    sessionFailed: () => {},
    agentsChanged: () => {},
    notify: () => {},
  })
  later(() => executor.stop({ deadlineMs: 0 }))
  return executor
}

async function resultOf(executor: BridgeExecutor, parts: Partial<PromptContext> = {}): Promise<unknown> {
  const request = promptOf('r1', parts)
  await executor.open(request.session, 'create')
  const events: BridgeEvent[] = []
  for await (const event of executor.prompt(request)) events.push(event)
  return events.find((event) => event.type === 'result')?.result
}

describe('a log that was truncated after a lost connection', () => {
  it("B94: the server's state of the run replaces its events", async () => {
    const executor = await overCutLog({ 'POST execute': brokenRun, 'GET state': json(state({ messages: [said('stop')] })) })
    expect(await resultOf(executor)).toEqual({ text: 'A line.', stopReason: 'end_turn' })
  })

  it('B94: also if the run waits', async () => {
    const executor = await overCutLog({ 'POST execute': brokenRun, 'GET state': json(waiting) })
    expect(await resultOf(executor)).toMatchObject({ stopReason: 'needs_input', pending: [{ id: 'a1', kind: 'approval' }] })
  })

  const ends = [
    { stopReason: 'stop', result: { text: 'A line.', stopReason: 'end_turn' } },
    { stopReason: 'aborted', result: { text: 'A line.', stopReason: 'cancelled' } },
  ]
  it.each(ends)('B94: after answers, for a run that ended as $stopReason', async ({ stopReason, result }) => {
    const states = [waiting]
    const executor = await overCutLog({
      'GET state': (request, response) =>
        json(states.shift() ?? state({ messages: [said(stopReason)], outcome: stopReason === 'stop' ? 'completed' : 'aborted' }))(
          request,
          response,
        ),
      'POST a1': json({ approvalId: 'a1', decision: 'approve', at: 1, repeated: false, missing: [] }),
    })
    // The usage of the session covers all its runs, so it must not be reported for this one.
    expect(await resultOf(executor, { answers: [{ id: 'a1', decision: 'approve' }] })).toEqual(result)
  })
})

describe('a run of a server that waits for a held run of a subagent', () => {
  const heldRuns = [{ runId: 'r/h', agent: ['helper'], message: 'The definition of the agent has changed: the tools.' }]
  const run = { runId: 'r', status: 'waiting-for-subagent', outcome: 'awaiting-subagent', attempts: 1 }
  const held = {
    code: 'UPSTREAM',
    retryable: false,
    details: { reason: 'needs-recovery', outcome: 'unknown', issues: [{ id: 'r/h', agent: ['helper'] }] },
  }
  const answers = [{ id: 'a1', decision: 'approve' as const }]
  const approved = json({ approvalId: 'a1', decision: 'approve', at: 1, repeated: false, missing: [] })

  const heldEvent = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = {
      type: 'error',
      at: 1,
      runId: 'r/h',
      turn: 1,
      seq: 6,
      source: 'definition',
      path: ['h'],
      message: 'changed',
      fatal: false,
    }
    response.write(`id: 6\ndata: ${JSON.stringify(event)}\n\n`)
  }
  const cases: readonly [string, readonly object[], Routes][] = [
    ['at once', [waiting], {}],
    ['by an event', [waiting, state({ run })], { 'GET events': heldEvent }],
    ['by the state after a log that was cut off', [waiting, state({ run }), state({ run })], {}],
  ]
  it.each(cases)('B35, S82: the last answer fails with it, reported %s', async (_, before, routes) => {
    const states = [...before]
    const executor = await overCutLog({
      'GET state': (request, response) => json(states.shift() ?? state({ run, heldRuns }))(request, response),
      'POST a1': approved,
      ...routes,
    })
    await expect(resultOf(executor, { answers })).rejects.toMatchObject(held)
  })

  it('B35, S82: remaining questions are asked first', async () => {
    const other = { ...asked, approvalId: 'a2' }
    const states = [state({ pendingApprovals: [asked, other], run, cursor: '5' })]
    const executor = await overCutLog({
      'GET state': (request, response) => json(states.shift() ?? state({ pendingApprovals: [other], run, heldRuns }))(request, response),
      'POST a1': approved,
    })
    expect(await resultOf(executor, { answers })).toMatchObject({ stopReason: 'needs_input', pending: [{ id: 'a2' }] })
  })

  it('B94, S82: so does a prompt that joins the run', async () => {
    const executor = await overCutLog({
      'POST execute': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'x-run-id': 'r' })
        const end = {
          type: 'execute-complete',
          sessionId: 's',
          runId: 'r',
          status: 'awaiting-subagent',
          pendingToolCalls: [],
          pendingApprovals: [],
          heldRuns,
          usage: {},
        }
        response.end(`data: ${JSON.stringify(end)}\n\n`)
      },
    })
    await expect(resultOf(executor)).rejects.toMatchObject(held)
  })
})
