import { createHash } from 'node:crypto'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import type { AgentEvent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import type { Script } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import type { Runtime } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { BridgeError, createBridge, delegateTool, inProcessExecutor, runtimeAgent } from '../src/index.ts'
import type { Bridge, BridgeAgent, BridgeOptions, PromptContext } from '../src/index.ts'
import { later } from './runtime-support.ts'
import { aborted, recordingLogger, testAgent } from './support.ts'

async function bridgeOver(agents: readonly BridgeAgent[], options: BridgeOptions = {}): Promise<Bridge> {
  const bridge = createBridge({ executors: [inProcessExecutor({ agents })], logger: recordingLogger(), ...options })
  await bridge.start()
  later(() => bridge.stop({ deadlineMs: 1000 }))
  return bridge
}

const delegate = (prompt: string, agentId?: string) => ({
  toolCalls: [{ id: 'd', name: 'delegate', input: { prompt, ...(agentId !== undefined && { agentId }) } }],
})

async function bossOver(bridge: Bridge, steps: Script, agents?: readonly string[]): Promise<Runtime> {
  const tools = [delegateTool(bridge, { ...(agents && { agents }) })]
  const runtime = createRuntime({ agents: [defineAgent({ name: 'boss', model: scriptedModel(steps), tools, abortGraceMs: 1000 })] })
  await runtime.start()
  later(() => runtime.stop({ graceMs: 0 }))
  return runtime
}

async function played(runtime: Runtime): Promise<{ readonly told: AgentEvent[]; readonly outputs: unknown[]; readonly result: unknown }> {
  const run = await runtime.session('room:1').send('Go')
  const told: AgentEvent[] = []
  const outputs: unknown[] = []
  for await (const event of run) {
    if (event.type.startsWith('child')) told.push(event)
    if (event.type === 'tool-execution-end') outputs.push(event.message.output)
  }
  return { told, outputs, result: await run.result() }
}

const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
const cost = { currency: 'USD', total: '0.5', input: '0.4', cacheRead: '0', cacheWrite: '0', output: '0.1' }

describe('delegateTool', () => {
  it('B57: usage and cost of delegated work also count for the delegating run', async () => {
    const seen: PromptContext[] = []
    const onPrompt = (request: PromptContext) => (
      seen.push(request),
      { text: 'a knot', stopReason: 'end_turn' as const, usage, cost, structured: { n: [1, null] } }
    )
    const bridge = await bridgeOver([testAgent('sailor', { onPrompt })])
    const { told, outputs, result } = await played(await bossOver(bridge, [delegate('Tie it.'), { text: 'done' }]))
    const requestId = seen[0]?.requestId
    expect(told).toMatchObject([
      { type: 'child-start', toolCallId: 'd', childRunId: requestId, subagent: 'sailor' },
      { type: 'child-update', childRunId: requestId, text: 'a knot' },
      { type: 'child-end', childRunId: requestId, status: 'completed', usage, cost },
    ])
    expect(outputs).toMatchObject([{ value: { result: 'completed', text: 'a knot', structured: { n: [1, null] } } }])
    expect(result).toMatchObject({ status: 'completed', usage: { inputTokens: 120, outputTokens: 20 } })
  })

  it('the request id is d_ and the hash of the key of the call, so that a repeat joins', async () => {
    let prompts = 0
    const bridge = await bridgeOver([testAgent('sailor', { onPrompt: () => ((prompts += 1), { text: 'a knot', stopReason: 'end_turn' }) })])
    const tool = delegateTool(bridge)
    expect(tool).toMatchObject({ name: 'delegate', effect: 'idempotent' })
    const context = { idempotencyKey: 'run-1/1/d', abortSignal: new AbortController().signal, reportChild: () => {} }
    const call = () => tool.execute?.({ prompt: 'Tie it.' }, context as never)
    const first = await call()
    expect(await call()).toEqual(first)
    expect(prompts).toBe(1)
    const id = `d_${createHash('sha256').update('run-1/1/d').digest('base64url')}`
    expect(await bridge.request(id)).toMatchObject({ ok: true, requestId: id })
  })

  it('B50: stopping the run cancels the delegated work', async () => {
    const told = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<unknown>()
    const onPrompt = async ({ abortSignal }: PromptContext) => {
      told.resolve()
      await aborted(abortSignal)
      stopped.resolve(abortSignal.reason)
      return { text: 'half', stopReason: 'cancelled' as const }
    }
    const bridge = await bridgeOver([testAgent('sailor', { onPrompt })])
    const runtime = await bossOver(bridge, [delegate('Tie it.')])
    const run = await runtime.session('room:1').send('Go')
    await told.promise
    await run.stop()
    expect(await stopped.promise).toBe('caller')
    expect((await run.result()).status).toBe('aborted')
  })

  it('the model gets a failure, and an agent that waits for answers, as the result', async () => {
    const pending = [{ id: 'a', kind: 'approval' as const, toolName: 'send', input: {} }]
    const asking = testAgent('asking', { onPrompt: () => ({ text: '', stopReason: 'needs_input', pending }) })
    const bridge = await bridgeOver([asking])
    const steps = [delegate('Go', 'nobody'), { ...delegate('Go', 'asking') }, { text: 'done' }]
    const { told, outputs } = await played(await bossOver(bridge, steps))
    expect(outputs).toMatchObject([
      { value: { result: 'error', code: 'NOT_FOUND' } },
      { value: { result: 'awaiting-approval', error: expect.stringContaining('send') as unknown } },
    ])
    expect(told.filter(({ type }) => type === 'child-end')).toMatchObject([{ status: 'error' }, { status: 'aborted' }])
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B115: the model gets a failure without keys and paths', async () => {
    const failing = testAgent('sailor', {
      onPrompt: () => {
        throw new BridgeError('UPSTREAM', 'sk-ant-REDACTED in /home/me/secret/file.ts')
      },
    })
    const { outputs } = await played(await bossOver(await bridgeOver([failing]), [delegate('Go', 'sailor'), { text: 'done' }]))
    expect(JSON.stringify(outputs)).not.toMatch(/sk-ant|home/)
  })

  it('only the named agents can be asked, the first one by default', async () => {
    const bridge = await bridgeOver([testAgent('one'), testAgent('two'), testAgent('three')])
    const { outputs } = await played(await bossOver(bridge, [delegate('a', 'one'), delegate('b'), { text: 'done' }], ['two', 'three']))
    expect(outputs).toMatchObject([{ type: 'error-text' }, { value: { text: 'two: b' } }])
    expect(() => delegateTool(bridge, { agents: [] })).toThrow(expect.objectContaining({ code: 'CONFIG' }))
  })

  it('B56: runs of a runtime count towards the work they belong to, and are limited in depth and circles', async () => {
    const seen: PromptContext[] = []
    const executor = inProcessExecutor({
      agents: [testAgent('leaf', { onPrompt: (request) => (seen.push(request), { text: 'leaf', stopReason: 'end_turn' }) })],
    })
    const bridge = await bridgeOver([], { executors: [executor] })
    const steps = [delegate('down', 'leaf'), delegate('round', 'boss'), { text: 'done' }]
    const runtime = await bossOver(bridge, steps)
    executor.add(runtimeAgent(runtime, { agent: 'boss' }))
    const run = bridge.delegate({ prompt: 'Go', agentId: 'boss', owner: 'ann', depth: 2, path: ['top', 'middle'] })
    const outputs: unknown[] = []
    for await (const event of run) {
      if (event.type === 'agent-event' && event.event.type === 'tool-execution-end') outputs.push(event.event.message.output)
    }
    expect(seen.map(({ session: { owner, depth, path } }) => ({ owner, depth, path }))).toEqual([
      { owner: 'ann', depth: 3, path: ['top', 'middle', 'boss'] },
    ])
    expect(outputs).toMatchObject([{ value: { text: 'leaf' } }, { value: { result: 'error', code: 'PROTOCOL' } }])
  })

  it('B56: also for the agents below an agent of a runtime', async () => {
    const depths: number[] = []
    const executor = inProcessExecutor({
      agents: [testAgent('leaf', { onPrompt: ({ session }) => (depths.push(session.depth), { text: 'leaf', stopReason: 'end_turn' }) })],
    })
    const bridge = await bridgeOver([], { executors: [executor] })
    const helper = defineAgent({
      name: 'helper',
      description: 'Helps.',
      model: scriptedModel([delegate('down'), { text: 'helped' }]),
      tools: [delegateTool(bridge)],
    })
    const echo = defineTool({ name: 'echo', description: 'Echo.', inputSchema: z.object({}), execute: () => 'echo' })
    const steps = [{ toolCalls: [{ id: 'h', name: 'delegate_to_helper', input: { prompt: 'go' } }] }, { text: 'done' }]
    const runtime = createRuntime({
      agents: [defineAgent({ name: 'boss', model: scriptedModel(steps), tools: [echo], subagents: [helper] })],
    })
    await runtime.start()
    later(() => runtime.stop({ graceMs: 0 }))
    executor.add(runtimeAgent(runtime, { agent: 'boss' }))
    expect(await bridge.delegate({ prompt: 'Go', agentId: 'boss', depth: 1 }).result()).toMatchObject({ ok: true, text: 'done' })
    expect(depths).toEqual([2])
  })
})

describe('delegateTool as the model sees it', () => {
  const described = (id: string, description: string) => testAgent(id, { info: { id, description } })
  const agents = () => [described('reviewer', 'Reads a text.\nSays what is wrong.'), described('coder', 'Writes code.'), testAgent('plain')]

  it('B120: lists its agents, with the purpose of each', async () => {
    const bridge = await bridgeOver(agents())
    const tool = delegateTool(bridge, { agents: ['coder', 'plain'] })
    expect(tool.description).toBe('Hands a task to another agent and gives its answer. The agents:\n- coder: Writes code.\n- plain')
    expect(delegateTool(bridge).description).toContain('- reviewer: Reads a text. Says what is wrong.')
    expect(delegateTool(bridge, { description: 'Mine.' }).description).toBe('Mine.')
    expect(JSON.stringify(z.toJSONSchema(tool.inputSchema as z.ZodType))).toContain('Which agent: coder, plain. Default: coder.')
  })

  it('B121: a failure says what to do next, in words that fit the tool', async () => {
    const bridge = await bridgeOver([testAgent('sailor', { onPrompt: () => Promise.reject(new BridgeError('CAPACITY', 'full')) })])
    const { outputs } = await played(await bossOver(bridge, [delegate('Tie it.'), { text: 'done' }]))
    expect(outputs).toMatchObject([
      { value: { code: 'CAPACITY', retryable: true, next: 'Hand the task over again later, or to another agent.' } },
    ])
  })

  it('B57: a total that an agent did not report is the sum of its counts', async () => {
    const onPrompt = () => ({ text: 'x', stopReason: 'end_turn' as const, usage: { inputTokens: 100, outputTokens: 10 } })
    const bridge = await bridgeOver([testAgent('sailor', { onPrompt })])
    const { told, result } = await played(await bossOver(bridge, [delegate('Tie it.'), { text: 'done' }]))
    expect(told.at(-1)).toMatchObject({ usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110 } })
    const { usage: whole } = result as { usage: { inputTokens: number; outputTokens: number; totalTokens: number } }
    expect(whole.totalTokens).toBe(whole.inputTokens + whole.outputTokens)
  })
})
