import { defineAgent, defineExtension, defineTool } from '@bowline/agent-loop'
import { createBridge, defineBridgeAgent, delegateTool, inProcessExecutor, remoteExecutor } from '@bowline/bridge'
import type { Answer, Bridge, BridgeOptions, BridgeOutcome, BridgeResult, RemoteServerOptions } from '@bowline/bridge'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script } from '@bowline/llm/testing'
import { memoryStateStore } from '@bowline/sessions'
import type { Runtime, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { answering, answerTo, question } from '../support/answers.ts'
import { bench, change, gate, localTool, refusal, remoteTool, temporaryFolder, type Bench, type BenchOptions } from '../support/bench.ts'
import { serverProcess } from '../support/child.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'

const nothing = (): void => undefined
const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

interface BridgeSetup extends BridgeOptions {
  readonly server?: Partial<RemoteServerOptions>
}

async function bridgeTo(baseUrl: string, { server = {}, ...options }: BridgeSetup = {}): Promise<Bridge> {
  const executors = [remoteExecutor({ servers: [{ id: 'far', baseUrl, ...server }] })]
  const bridge = createBridge({ executors, logger, ...options })
  await bridge.start()
  onTestFinished(() => bridge.stop({ deadlineMs: 1000 }))
  return bridge
}

async function setUp(options: BenchOptions, setup: BridgeSetup = {}): Promise<Bench & { readonly bridge: Bridge }> {
  const far = await bench(options)
  return { ...far, bridge: await bridgeTo(far.url, setup) }
}

function outcomeOf(result: BridgeResult): BridgeOutcome {
  if (!result.ok) throw result.error
  return result
}

async function runsOf({ runtime }: Bench): Promise<string[]> {
  const { items } = await runtime.sessions()
  const pages = await Promise.all(items.map(({ key }) => runtime.session(key).runs()))
  return pages.flatMap(({ items: runs }) => runs.map(({ status }) => status))
}

const calls = (...names: readonly string[]) => ({ toolCalls: names.map((name) => ({ id: `c-${name}`, name, input: {} })) })
const endless: Script = [{ text: 'half and half', chunk: 4, hang: 'middle' }]

/** Returns byte limits: a third of the connections break early, a third within the stream, and a third never. */
function brokenLine(): () => number | undefined {
  let count = 0
  return () => [1 + ((count * 131) % 700), 700 + ((count * 397) % 6000), undefined][count++ % 3]
}

describe('work handed to an agent of another server', () => {
  it('B94: over a connection that breaks the result equals that of an undisturbed call, and there is one run', async () => {
    const tools = [localTool('look', () => 'a knot')]
    const far = await bench({ steps: (call, index) => (typeof answering === 'function' ? answering(call, index) : {}), tools })
    const line = brokenLine()
    let breaks = false
    const proxy = await cuttingProxy(() => (breaks ? line() : undefined))
    proxy.toward(Number(new URL(far.url).port))
    const disturbed = await bridgeTo(proxy.url, { server: { reconnect: { baseMs: 1, maxMs: 10 } } })
    // A bridge that starts gives up after one second without a list of agents.
    breaks = true
    const direct = await bridgeTo(far.url)
    const numbers = [0, 1, 2, 4, 5, 6, 8, 9, 10]
    const ask = async (bridge: Bridge, number: number) => {
      const { sessionId: _session, requestId: _request, ...facts } = outcomeOf(await bridge.delegate({ prompt: question(number) }).result())
      return facts
    }
    const expected = await Promise.all(numbers.map((number) => ask(direct, number)))
    expect(expected.map(({ text }) => text)).toEqual(numbers.map(answerTo))
    expect(await Promise.all(numbers.map((number) => ask(disturbed, number)))).toEqual(expected)
    expect(proxy.cuts()).toBeGreaterThan(numbers.length / 2)
    expect(await runsOf(far)).toEqual(Array.from({ length: 2 * numbers.length }, () => 'completed'))
  })

  it('B94: the server may be killed in the middle of a run', async () => {
    const file = join(temporaryFolder(), 'data.db')
    const proxy = await cuttingProxy(() => undefined)
    const first = await serverProcess(file, 'answering')
    proxy.toward(Number(new URL(first.url).port))
    const bridge = await bridgeTo(proxy.url, { server: { reconnect: { baseMs: 1, maxMs: 10 } } })
    const run = bridge.delegate({ prompt: question(12) })
    for await (const event of run) {
      if (event.type !== 'agent-event' || event.event.type !== 'text-delta') continue
      proxy.toward(undefined)
      first.child.kill('SIGKILL')
      await first.ended
      const second = await serverProcess(file, 'answering')
      proxy.toward(Number(new URL(second.url).port))
      break
    }
    expect(outcomeOf(await run.result())).toMatchObject({ status: 'completed', text: answerTo(12) })
  })

  it('B93: finds the agents of the server, under its prefix and no other', async () => {
    const other = defineAgent({ name: 'other', model: scriptedModel([]) })
    const { url } = await bench({ otherAgents: [other] })
    const all = await bridgeTo(url, { server: { agentIdPrefix: 'far.' } })
    expect(all.discover()).toMatchObject([
      { id: 'far.assistant', status: 'ready', durable: true },
      { id: 'far.other', status: 'ready', durable: true },
    ])
    const some = await bridgeTo(url, { server: { agents: ['other'] } })
    expect(some.discover().map(({ id }) => id)).toEqual(['other'])
  })

  it('B37, B38: parameters and metadata reach the run, as far as the server lets a client set them', async () => {
    const agents = { assistant: { runtimeParams: ['temperature'] as const } }
    const { bridge, model, runtime } = await setUp({ steps: [{ text: 'one' }], agents })
    const metadata = { team: 'red', deep: [{ x: null }] }
    outcomeOf(await bridge.delegate({ prompt: 'Hi', metadata, runtimeParams: { temperature: 0.5 } }).result())
    expect(model.calls[0]?.temperature).toBe(0.5)
    expect((await runtime.sessions()).items).toMatchObject([{ metadata }])
    const refused = await bridge.delegate({ prompt: 'Hi', runtimeParams: { seed: 1 } }).result()
    expect(refused).toMatchObject({ ok: false, error: { code: 'AUTH', details: { reason: 'option-not-allowed' } } })
  })

  it('B94: hooks after a turn neither hide its question nor refuse the next prompt', async () => {
    const hooks = [undefined, gate(), gate()]
    let hooked = 0
    const slow = defineExtension({ name: 'slow', timeoutMs: 60_000, hooks: { onAgentEnd: () => hooks[hooked++]?.passed } })
    const steps = [calls('place'), calls('time'), { text: 'Noon in Oslo.' }, { text: 'Bye.' }]
    const { bridge, runtime } = await setUp({ steps, tools: [remoteTool('place'), remoteTool('time')], extensions: [slow] })
    const { sessionId } = await bridge.createSession()
    const first = outcomeOf(await bridge.prompt({ sessionId, prompt: 'Where and when?' }).result())
    expect(first).toMatchObject({ status: 'awaiting-tools', pending: [{ id: 'c-place' }] })
    const second = outcomeOf(await bridge.prompt({ sessionId, answers: [{ id: 'c-place', output: 'Oslo' }] }).result())
    expect(second).toMatchObject({ status: 'awaiting-tools', pending: [{ id: 'c-time' }] })
    hooks[1]?.open()
    const answered = outcomeOf(await bridge.prompt({ sessionId, answers: [{ id: 'c-time', output: 'noon' }] }).result())
    expect(answered).toMatchObject({ status: 'completed', text: 'Noon in Oslo.' })
    const sent = gate()
    change(runtime, (session) => ({
      send: (...given) => {
        const sending = session.send(...given)
        sent.open()
        return sending
      },
    }))
    const next = bridge.prompt({ sessionId, prompt: 'Thanks.' })
    await sent.passed
    await new Promise(setImmediate)
    hooks[2]?.open()
    expect(outcomeOf(await next.result())).toMatchObject({ status: 'completed', text: 'Bye.' })
  })

  it('a session is one conversation at the server', async () => {
    const { bridge, model } = await setUp({ steps: [{ text: 'one' }, { text: 'two' }] })
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'first' }).result())
    expect(outcomeOf(await bridge.prompt({ sessionId, prompt: 'second' }).result())).toMatchObject({ text: 'two' })
    expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })

  it('the session of the server stays, or is deleted with that of the bridge', async () => {
    const far = await bench({ steps: () => ({ text: 'one' }) })
    for (const onClose of ['keep', 'delete'] as const) {
      const bridge = await bridgeTo(far.url, { server: { onClose } })
      outcomeOf(await bridge.delegate({ prompt: 'Hi' }).result())
      expect((await far.runtime.sessions()).items).toHaveLength(1)
    }
  })
})

describe('questions of an agent of another server', () => {
  const where = remoteTool('where')
  const send = defineTool({
    name: 'send',
    description: 'Sends.',
    inputSchema: { type: 'object' },
    effect: 'pure',
    needsApproval: true,
    execute: () => 'sent',
  })

  it('B41: the run goes on with answers, and with only some of them it waits for the rest', async () => {
    const { bridge, ...far } = await setUp({ steps: [calls('where', 'send'), { text: 'Done.' }], tools: [where, send] })
    const { sessionId } = await bridge.createSession()
    const first = outcomeOf(await bridge.prompt({ sessionId, prompt: 'Go' }).result())
    expect(first).toMatchObject({
      status: 'awaiting-tools',
      pending: [
        { id: 'c-where', kind: 'tool' },
        { kind: 'approval', toolName: 'send' },
      ],
    })
    const rest = outcomeOf(await bridge.prompt({ sessionId, answers: [{ id: 'c-where', output: 'Oslo' }] }).result())
    expect(rest).toMatchObject({ status: 'awaiting-approval', pending: [{ kind: 'approval' }] })
    const answers: Answer[] = [{ id: rest.pending?.[0]?.id ?? '', decision: 'deny', reason: 'not now' }]
    expect(outcomeOf(await bridge.prompt({ sessionId, answers }).result())).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(await runsOf(far)).toEqual(['completed'])
  })

  it('B35, S82: an answer after which the run of a subagent is held fails with the run to recover', async () => {
    const store = memoryStore()
    const bossIn = (at: SessionStore, instructions: string, [steps, helps]: readonly [Script, Script]) => {
      const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel(helps), tools: [where], instructions })
      const boss = defineAgent({ name: 'boss', model: scriptedModel(steps), subagents: [helper] })
      return bench({ store: at, otherAgents: [boss], defaultAgent: 'boss', runtimeOptions: { onDefinitionChange: 'refuse' } })
    }
    const proxy = await cuttingProxy(() => undefined)
    const handOver = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'help' } }] }
    const before = await bossIn(store, 'Look.', [[handOver], [calls('where')]])
    proxy.toward(Number(new URL(before.url).port))
    const bridge = await bridgeTo(proxy.url, { server: { agents: ['boss'], reconnect: { baseMs: 1, maxMs: 10 } } })
    const { sessionId } = await bridge.createSession()
    const asked = outcomeOf(await bridge.prompt({ sessionId, prompt: 'Go' }).result())
    expect(asked).toMatchObject({ status: 'awaiting-tools', pending: [{ id: 'h/c-where' }] })
    await before.runtime.stop()
    const { url, runtime } = await bossIn(store.second(), 'Look twice.', [[{ text: 'Done.' }], [{ text: 'Oslo' }]])
    proxy.toward(Number(new URL(url).port))
    const answered = await bridge.prompt({ sessionId, answers: [{ id: 'h/c-where', output: 'Oslo' }] }).result()
    const [run] = (await runtime.session(await rootOf(runtime)).runs()).items
    const issues = [
      { id: run?.heldRuns?.[0]?.runId, agent: ['helper'], message: 'The definition of the agent has changed: the instructions.' },
    ]
    expect(answered).toMatchObject({
      ok: false,
      error: { code: 'UPSTREAM', details: { reason: 'needs-recovery', outcome: 'unknown', issues } },
    })
  })

  it('B100: a question of a nested agent is answered at the other server', async () => {
    const inner = defineAgent({
      name: 'inner',
      description: 'Helps.',
      model: scriptedModel([calls('where', 'send'), { text: 'inner' }]),
      tools: [where, send],
    })
    const outer = { toolCalls: [{ id: 'd', name: 'delegate_to_inner', input: { prompt: 'do it' } }] }
    const writer = defineAgent({ name: 'writer', model: scriptedModel([outer, { text: 'Done.' }]), subagents: [inner] })
    const { bridge } = await setUp({ otherAgents: [writer] })
    const { sessionId } = await bridge.createSession({ agentId: 'writer' })
    const first = outcomeOf(await bridge.prompt({ sessionId, prompt: 'Go' }).result())
    expect(first.pending).toMatchObject([
      { id: 'd/c-where', kind: 'tool', agent: ['inner'] },
      { kind: 'approval', toolName: 'send', agent: ['inner'] },
    ])
    const answers: Answer[] = [
      { id: 'd/c-where', output: 'Oslo' },
      { id: first.pending?.[1]?.id ?? '', decision: 'approve' },
    ]
    expect(outcomeOf(await bridge.prompt({ sessionId, answers }).result())).toMatchObject({ status: 'completed', text: 'Done.' })
  })

  it('B100: a slow reader gets everything up to the next question, also after a subagent that answers at once', async () => {
    const helper = defineAgent({ name: 'helper', description: 'Helps.', model: scriptedModel([{ text: 'helped' }]) })
    const handOver = { toolCalls: [{ id: 'd', name: 'delegate_to_helper', input: { prompt: 'do it' } }] }
    const more = { text: 'One more thing.', toolCalls: [{ id: 'c-again', name: 'where', input: {} }] }
    const writer = defineAgent({
      name: 'writer',
      model: scriptedModel([calls('where'), handOver, more, { text: 'Done.' }]),
      tools: [where],
      subagents: [helper],
    })
    const far = await bench({ otherAgents: [writer] })
    let lags = false
    const fetchLate: typeof fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input)
      if (lags && (init?.method ?? 'GET') === 'GET' && !url.includes('/events')) await askedAgain(far)
      return fetch(input, init)
    }
    const bridge = await bridgeTo(far.url, { server: { fetch: fetchLate } })
    const { sessionId } = await bridge.createSession({ agentId: 'writer' })
    const first = outcomeOf(await bridge.prompt({ sessionId, prompt: 'Go' }).result())
    const answering = bridge.prompt({ sessionId, answers: [{ id: first.pending?.[0]?.id ?? '', output: 'Oslo' }] })
    for await (const event of answering) if (event.type === 'agent-event' && event.event.type === 'turn-start') lags = true
    expect(outcomeOf(await answering.result())).toMatchObject({
      status: 'awaiting-tools',
      text: 'One more thing.',
      pending: [{ id: 'c-again' }],
    })
  })
})

/** Returns the key of the session that no other session has delegated to. */
async function rootOf(runtime: Runtime): Promise<string> {
  return (await runtime.sessions()).items.find(({ parent }) => parent === undefined)?.key ?? ''
}

/** Resolves when the run on the server asks its second question. */
async function askedAgain({ runtime }: Bench): Promise<void> {
  for await (const event of runtime.session(await rootOf(runtime)).events()) {
    if (event.type === 'awaiting-tools' && event.pendingToolCalls.some(({ toolCallId }) => toolCallId === 'c-again')) return
  }
}

describe('cancel, and another process of the bridge', () => {
  it('B50: a cancel stops the run at the server and keeps the text so far', async () => {
    const { bridge, ...far } = await setUp({ steps: endless })
    const run = bridge.delegate({ prompt: 'Go' })
    for await (const event of run) if (event.type === 'agent-event' && event.event.type === 'text-delta') break
    expect(await bridge.cancel({ requestId: run.requestId })).toMatchObject({ cancelled: true, settled: true })
    const outcome = outcomeOf(await run.result())
    expect(outcome).toMatchObject({ status: 'aborted', stopReason: 'cancelled', text: expect.stringMatching(/^half/) as unknown })
    expect(await runsOf(far)).toEqual(['stopped'])
  })

  it('B50: a cancel stops a run that waits for answers too', async () => {
    const { bridge, ...far } = await setUp({ steps: [calls('where')], tools: [remoteTool('where')] })
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'Go' })
    outcomeOf(await run.result())
    expect(await bridge.cancel({ sessionId })).toMatchObject({ cancelled: true, settled: true })
    expect(await runsOf(far)).toEqual(['stopped'])
  })

  it('B97: the next process of the bridge joins a running request', async () => {
    const go = Promise.withResolvers<void>()
    const far = await bench({ steps: async () => (await go.promise, { text: 'A line.' }) })
    const store = memoryStateStore()
    const first = await bridgeTo(far.url, { store })
    const { sessionId } = await first.createSession()
    const run = first.prompt({ sessionId, prompt: 'Write.', requestId: 'r1' })
    for await (const event of run) if (event.type === 'agent-event') break
    await first.stop({ deadlineMs: 100 })
    const second = await bridgeTo(far.url, { store })
    const waiting = second.request('r1', { waitMs: 20_000 })
    go.resolve()
    expect(outcomeOf(await waiting)).toMatchObject({ status: 'completed', text: 'A line.', sessionId })
    expect(await runsOf(far)).toEqual(['completed'])
  })

  it('B56: the depth of the work is sent along', async () => {
    const far = await bench({ steps: () => ({ text: 'one' }) })
    const depths: (string | null)[] = []
    const watching: typeof fetch = (input, init) => {
      if (init?.method === 'POST') depths.push(new Headers(init.headers).get('x-bowline-depth'))
      return fetch(input, init)
    }
    const bridge = await bridgeTo(far.url, { server: { fetch: watching } })
    outcomeOf(await bridge.delegate({ prompt: 'Hi' }).result())
    outcomeOf(await bridge.delegate({ prompt: 'Hi', depth: 2 }).result())
    expect(new Set(depths.slice(0, 2))).toEqual(new Set([null]))
    expect(new Set(depths.slice(2))).toEqual(new Set(['2']))
  })

  it('B56: the bridge of the other server continues counting from there, also below an agent of its own', async () => {
    const seen: number[] = []
    const leaf = defineBridgeAgent({
      specificationVersion: 'v1',
      info: { id: 'leaf' },
      onPrompt: ({ session }) => (seen.push(session.depth), { text: 'leaf', stopReason: 'end_turn' }),
    })
    const own = createBridge({ executors: [inProcessExecutor({ agents: [leaf] })], logger, maxDepth: 4 })
    await own.start()
    onTestFinished(() => own.stop({ deadlineMs: 1000 }))
    const delegate = { toolCalls: [{ id: 'd', name: 'delegate', input: { prompt: 'go' } }] }
    const handOver = { toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'go' } }] }
    const tools = [delegateTool(own)]
    const helper = defineAgent({
      name: 'helper',
      description: 'Helps.',
      model: scriptedModel(() => delegate),
      tools,
      limits: { maxSteps: 1 },
    })
    const boss = defineAgent({
      name: 'boss',
      model: scriptedModel(({ prompt }) => (prompt.at(-1)?.role === 'user' ? handOver : { text: 'done' })),
      subagents: [helper],
    })
    const far = await bench({ otherAgents: [boss] })
    const bridge = await bridgeTo(far.url)
    for (const depth of [1, 3, 4]) outcomeOf(await bridge.delegate({ prompt: 'Hi', agentId: 'boss', depth }).result())
    outcomeOf(await bridge.delegate({ prompt: 'Hi', agentId: 'boss' }).result())
    expect(seen).toEqual([2, 4, 1])
    await refusal(far.execute({ input: { role: 'user', content: 'Hi' }, context: {} }, { 'x-bowline-depth': 'deep' }), 400, 'invalid-query')
  })
})
