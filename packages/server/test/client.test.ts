import { defineTool } from '@bowline/agent-loop'
import { commitsOf, emptyView, type AgentEvent } from '@bowline/agent-loop/events'
import { createClient, foldEvent, type Client, type ClientEvent } from '@bowline/client'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, remoteTool, stores } from './support/bench.ts'

const text = 'The knot holds under any load and is easy to untie, so it is used at sea. '.repeat(3)

/** Waits of a backoff pass at once. No other timer of the client ever fires. */
const clock = {
  now: () => 0,
  setTimer(atMs: number, run: () => void) {
    const timer = atMs === 0 ? setImmediate(run) : undefined
    return () => clearImmediate(timer)
  },
}

/** Returns a fetch that cuts each stream after that many bytes, and removes the wait that the server asks for. */
function cutting(cuts: number[]): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (!isStream || !response.body) return response
    let leftBytes = cuts.shift() ?? Infinity
    const body = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, controller) {
          const chunk = new TextEncoder().encode(new TextDecoder().decode(bytes).replace('retry: 2000', 'retry: 0'))
          controller.enqueue(chunk.subarray(0, leftBytes))
          leftBytes -= chunk.length
          if (leftBytes < 0) controller.error(new Error('cut'))
        },
      }),
    )
    return new Response(body, response)
  }
}

function connect(url: string, options: Partial<Parameters<typeof createClient>[0]> = {}): Client {
  return createClient({ baseUrl: url, clock, random: () => 0, ...options })
}

async function collect(events: AsyncIterable<ClientEvent>, isLast: (event: ClientEvent) => boolean = () => false): Promise<ClientEvent[]> {
  const all: ClientEvent[] = []
  for await (const event of events) {
    all.push(event)
    if (isLast(event)) break
  }
  return all
}

describe.each(stores)('the client against $name', ({ make }) => {
  it('D55: a client that reads the log learns each commit, with the process and the claim that wrote it', async () => {
    const { url, runtime } = await bench({ store: make(), steps: [{ text }] })
    const session = connect(url).session()
    await session.send('hi').result()
    const events = await collect(session.attach({ from: 'start' }), ({ type }) => type === 'settled')
    const commits = commitsOf(events as AgentEvent[])
    expect(commits.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([
      [1, 2],
      [3, 6],
      [7, 11],
    ])
    expect(commits.map(({ owner, epoch }) => [owner, epoch])).toEqual([
      [runtime.id, undefined],
      [runtime.id, 1],
      [runtime.id, 1],
    ])
    const { key = '' } = (await runtime.sessions()).items[0] ?? {}
    const stored: AgentEvent[] = []
    for await (const event of runtime.session(key).events({ live: false })) stored.push(event)
    expect(commitsOf(stored)).toEqual(commits)
  })

  it('C3, C25: result, state and the fold of the log agree', async () => {
    const { url } = await bench({ store: make(), steps: [{ text, chunk: 4 }] })
    const session = connect(url).session()
    const run = session.send('hi', { metadata: { from: 'test' } })
    const events = await collect(run)
    expect([events[0]?.type, events.at(-1)?.type]).toEqual(['run-queued', 'save-point'])
    const result = await run.result()
    expect(result).toMatchObject({ status: 'completed', sessionId: session.id })
    const state = await session.state()
    expect(state).toMatchObject({ messages: result.messages, metadata: { from: 'test' } })
    const log = await collect(session.attach({ from: 'start' }), (event) => event.type === 'settled')
    expect(log.reduce(foldEvent, emptyView)).toMatchObject({ messages: result.messages, status: 'completed', gap: false })
  })

  it.each([1, 2, 3, 4, 5, 6])('C5, C8, V30: cut again and again (%i), a run and a reader of the session miss no event', async (seed) => {
    const { url } = await bench({ store: make(), steps: [{ text, chunk: 3, deltaDelayMs: 1 }, { text: 'Again.' }] })
    const cuts = (salt: number): number[] => Array.from({ length: 6 }, (_, place) => 1 + ((seed * 7919 + salt + place * 1613) % 5000))
    const run = connect(url, { fetch: cutting(cuts(0)) })
      .session('s1')
      .send('hi')
    await run.accepted()
    const reader = connect(url, { fetch: cutting(cuts(331)) })
      .session('s1')
      .attach({ from: 'start' })
    let view = emptyView
    const reading = collect(reader, (event) => {
      view = foldEvent(view, event)
      for (const block of view.open?.blocks ?? [])
        expect('text' in block && (text.startsWith(block.text) || block.text === 'Again.')).toBe(true)
      return event.type === 'settled' && view.turn === 2
    })
    const second = connect(url).session('s1').send('again', { onBusy: 'queue' })
    const events = await collect(run)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect((await second.result()).status).toBe('completed')
    await reading
    const { messages } = await connect(url).session('s1').state()
    expect(view.messages).toEqual(messages)
    expect(events.reduce(foldEvent, emptyView).messages).toEqual(messages.slice(0, 2))
  })

  it('C11, S216: a remote tool runs in the client while a tool of the server still works, and its result is there when that ends', async () => {
    const answered = gate()
    const calls = ['where', 'clock'].map((name) => ({ name, input: {} }))
    const tools = [remoteTool('where'), localTool('clock', () => answered.passed.then(() => '12:00'))]
    const { url } = await bench({ store: make(), steps: [{ toolCalls: calls }, { text }], tools })
    const send: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (new Request(input).url.endsWith('/tool-results')) answered.open()
      return response
    }
    const run = connect(url, { fetch: send, tools: { where: { execute: () => 'at sea' } } })
      .session()
      .send('hi')
    const ends = (await collect(run)).filter((event) => event.type === 'turn-end')
    expect(ends.map(({ status }) => status)).toEqual(['awaiting-tools', 'completed'])
    expect(await run.result()).toMatchObject({ status: 'completed', text })
  })

  it('C11: a remote tool runs in the client beside a tool of the server, and the same iteration goes on', async () => {
    const calls = ['where', 'clock'].map((name) => ({ name, input: {} }))
    const tools = [remoteTool('where'), localTool('clock', () => '12:00')]
    const { url } = await bench({ store: make(), steps: [{ toolCalls: calls }, { text }], tools })
    const session = connect(url, { tools: { where: { execute: () => ({ place: 'sea' }) } } }).session()
    const run = session.send('hi')
    const ends = (await collect(run)).filter((event) => event.type === 'turn-end')
    expect(ends.map(({ status }) => status)).toEqual(['awaiting-tools', 'completed'])
    expect((await run.result()).messages).toEqual((await session.state()).messages)
  })

  it('C16: an answer by one client cannot be contradicted by another', async () => {
    const { url } = await bench({
      store: make(),
      steps: [{ toolCalls: [{ name: 'where', input: {} }] }, { text }],
      tools: [remoteTool('where')],
    })
    const session = connect(url).session()
    const { status, pendingToolCalls = [] } = await session.send('hi').result()
    expect(status).toBe('awaiting-tools')
    const toolCallId = pendingToolCalls[0]?.toolCallId ?? ''
    expect(await session.submitToolResults([{ toolCallId, output: 'sea' }])).toEqual({ accepted: [toolCallId], repeated: [], missing: [] })
    expect(await session.submitToolResults([{ toolCallId, output: 'sea' }])).toMatchObject({ repeated: [toolCallId] })
    const other = connect(url).session(session.id)
    await expect(other.submitToolResults([{ toolCallId, output: 'land' }])).rejects.toMatchObject({ code: 'tool-result-conflict' })
    await expect(other.submitToolResults([{ toolCallId: 'no-such', output: 1 }])).rejects.toMatchObject({ code: 'unknown-tool-call' })
  })

  it('V22, V25: steering, follow-up, fork and switch through the client reach the server', async () => {
    const held = gate()
    const steps = [{ parts: [{ wait: held.passed }], text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }, { text: 'Other.' }]
    const { url } = await bench({ store: make(), steps })
    const client = connect(url)
    const session = client.session()
    const run = session.send('hi')
    for await (const event of run) {
      if (event.type !== 'message-start') continue
      expect(await session.steer('and this', { id: 'a' })).toEqual({ runId: run.runId, accepted: 'steered' })
      expect(await session.steer('and this', { id: 'a' })).toEqual({ runId: run.runId, accepted: 'duplicate' })
      break
    }
    const behind = await session.followUp('then')
    expect(behind.accepted).toBe('queued')
    await expect(session.fork()).rejects.toMatchObject({ code: 'busy' })
    held.open()
    await collect(session.attach({ from: 'start' }), (event) => event.type === 'settled' && event.runId === behind.runId)
    const { messages } = await session.state()
    const fork = await session.fork()
    expect(await fork.state()).toMatchObject({ messages, forkedFrom: { sessionId: session.id, entryId: messages.at(-1)?.id } })
    const answer = messages.find((message) => message.role === 'assistant')?.id ?? ''
    expect((await fork.switchTo(answer)).messages).toHaveLength(2)
    expect((await fork.send('other').result()).status).toBe('completed')
    expect((await fork.branches()).branches.map(({ active }) => active)).toEqual([false, true])
    expect(await fork.compact()).toMatchObject({ outcome: 'skipped' })
    expect((await new Response(await fork.export({ allBranches: true })).text()).trimEnd().split('\n').length).toBeGreaterThan(4)
    await fork.delete()
    await expect(connect(url).session(fork.id).state()).rejects.toMatchObject({ code: 'session-deleted' })
    expect((await client.sessions()).sessions.map(({ sessionId }) => sessionId)).toEqual([session.id])
    expect(await client.sessions({ parent: session.id })).toEqual({ sessions: [] })
  })

  it('V23: an approval in the client lets the call run, and its receipt says so', async () => {
    const asking = defineTool({
      name: 'cut',
      description: 'Cuts a rope.',
      inputSchema: { type: 'object', properties: { length: { type: 'number' } } },
      needsApproval: true,
      execute: ({ length }) => `cut ${JSON.stringify(length)}`,
    })
    const cut = { toolCalls: [{ name: 'cut', input: { length: 5 } }] }
    const { url } = await bench({ store: make(), steps: [cut, { text: 'Done.' }, cut, { text: 'Left.' }], tools: [asking] })
    const session = connect(url).session()
    const { status, pendingApprovals = [] } = await session.send('cut').result()
    expect(status).toBe('awaiting-approval')
    const { approvalId = '', inputHash = '' } = pendingApprovals[0] ?? {}
    const receipt = await session.approve(approvalId, { input: { length: 3 }, inputHash })
    expect(receipt).toMatchObject({ approvalId, decision: 'approve', by: 'local', repeated: false, missing: [] })
    expect(await session.approve(approvalId, { input: { length: 3 } })).toEqual({ ...receipt, repeated: true })
    await expect(session.deny(approvalId)).rejects.toMatchObject({ code: 'approval-conflict' })
    await collect(session.attach(), (event) => event.type === 'settled')
    const again = await session.send('again').result()
    expect(await session.deny(again.pendingApprovals?.[0]?.approvalId ?? '', { reason: 'No.' })).toMatchObject({ decision: 'deny' })
  })

  it('V10, V13, V14: a client brings context and tools to a session, and chooses how an input joins an open run', async () => {
    const held = gate()
    const steps = [{ parts: [{ wait: held.passed }], text: 'One.' }, { toolCalls: [{ name: 'paint', input: {} }] }, { text: 'Painted.' }]
    const { url } = await bench({ store: make(), steps, agents: { assistant: { clientTools: 'any', clientHistory: true } } })
    const session = connect(url, { tools: { paint: { execute: () => 'done' } } }).session()
    const declarations = [{ name: 'paint', description: 'Paints.', inputSchema: { type: 'object', properties: {} } }] as const
    const first = session.send('hi', { history: [{ role: 'user', content: 'before' }], declarations })
    await first.accepted()
    const second = session.send('instead', { onBusy: 'interrupt' })
    expect((await second.result()).status).toBe('completed')
    expect((await first.result()).status).toBe('aborted')
    expect((await session.state()).messages[0]).toMatchObject({ role: 'user', content: 'before' })
    const refused = await session.send('x', { model: 'test:none' }).result()
    expect(refused.error).toMatchObject({ code: 'model-not-allowed' })
    held.open()
  })

  it('A191: an input may ask for an object of a schema, which becomes the result', async () => {
    const steps = [{ toolCalls: [{ name: 'final_output', input: { city: 'Oslo' } }] }]
    const { url } = await bench({ store: make(), steps, agents: { assistant: { clientOutput: true } } })
    const run = connect(url)
      .session()
      .send('hi', { output: { type: 'object', properties: { city: { type: 'string' } } } })
    const views: unknown[] = []
    let view = emptyView
    for await (const event of run) {
      view = foldEvent(view, event)
      views.push(view.output)
    }
    expect(views).toContainEqual({ city: 'Oslo' })
    expect(await run.result()).toMatchObject({ status: 'completed', output: { city: 'Oslo' }, text: '{"city":"Oslo"}' })
  })

  it('C14: stop ends the run and returns the outcome of its calls', async () => {
    const held = gate()
    const tools = [localTool('slow', () => held.passed.then(() => 'late'))]
    const { url } = await bench({ store: make(), steps: [{ toolCalls: [{ name: 'slow', input: {} }] }], tools })
    const session = connect(url).session()
    const run = session.send('hi')
    for await (const event of run) {
      if (event.type !== 'tool-execution-start') continue
      expect(await session.stop()).toMatchObject({
        state: 'settled',
        status: 'stopped',
        calls: [{ toolName: 'slow', status: 'cancelled' }],
      })
    }
    expect((await run.result()).status).toBe('aborted')
    held.open()
  })
})
