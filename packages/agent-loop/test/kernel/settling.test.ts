import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../src/index.ts'
import type { Tool } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { resultsOf, textOfRequest } from '../support/prompts.ts'
import { echo } from '../support/tools.ts'

const city = z.object({ city: z.string(), days: z.number().default(3) })
const call = (id: string, name: string, input: object = {}) => ({ id, name, input: input as { raw: string } })

async function outcomes(tools: readonly Tool[], calls: readonly ReturnType<typeof call>[]) {
  const talk = conversation()
  const agent = agentOf([{ toolCalls: calls }, { text: 'done' }], { tools })
  const { result } = await talk.play(agent, 'go')
  const results = result.messages.filter((message) => message.role === 'tool-result')
  return { talk, agent, result, results }
}

describe('tool calls', () => {
  it('A48: a tool gets validated input as a fresh value', async () => {
    const seen: unknown[] = []
    const tool = defineTool({
      name: 'weather',
      description: 'w',
      inputSchema: city,
      execute: (input) => {
        seen.push({ ...input })
        input.city = 'changed'
        return `${input.days} days`
      },
    })
    const { results, talk } = await outcomes([tool], [call('a', 'weather', { city: 'Oslo' })])
    expect(seen).toEqual([{ city: 'Oslo', days: 3 }])
    expect(results[0]?.output).toEqual({ type: 'text', value: '3 days' })
    expect(JSON.stringify((await talk.memory.load()).messages)).not.toContain('changed')
  })

  it('A49: invalid arguments give an error that names each path and the input, and no tool runs', async () => {
    const ran: string[] = []
    const tool = defineTool({ name: 'weather', description: 'w', inputSchema: city, execute: () => void ran.push('x') as never })
    const { results } = await outcomes([tool], [call('a', 'weather', { city: 7, days: 'many' })])
    expect(results[0]).toMatchObject({ status: 'error', output: { type: 'error-text' } })
    const text = JSON.stringify(results[0]?.output)
    expect(text).toContain('city')
    expect(text).toContain('days')
    expect(text).toContain(String.raw`{\"city\":7,\"days\":\"many\"}`)
    expect(ran).toEqual([])
  })

  it('A50: a call whose arguments are broken is neither repaired nor run', async () => {
    const a = echo('a')
    const { results } = await outcomes([a.tool], [call('x', 'a', { raw: '{"city": "Os' })])
    expect(results[0]).toMatchObject({ status: 'error', output: { value: expect.stringContaining('{"city": "Os') as string } })
    expect(a.calls).toEqual([])
  })

  it('A51: an unknown tool gives an error, and the other calls run', async () => {
    const a = echo('a')
    const { results } = await outcomes([a.tool], [call('x', 'nobody'), call('y', 'a')])
    expect(results.map(({ status }) => status)).toEqual(['error', 'result'])
    expect(JSON.stringify(results[0]?.output)).toContain('nobody')
    expect(a.calls).toHaveLength(1)
  })

  it('A48: a copy of its context has every field of the context', async () => {
    const seen: unknown[] = []
    const look = defineTool({
      name: 'look',
      description: 'l',
      inputSchema: {},
      execute: (_input, context) => {
        seen.push(Object.keys({ ...context }).toSorted(), { ...context }.messages.length)
        return 'x'
      },
    })
    await outcomes([look], [call('x', 'look')])
    expect(seen).toEqual([
      [
        ...[
          'abortSignal',
          'agent',
          'attempt',
          'compactAfterTurn',
          'deadlineAt',
          'emit',
          'idempotencyKey',
          'messages',
          'overlay',
          'reportChild',
        ],
        ...['runId', 'spawnChild', 'steer', 'step', 'toolCallId', 'toolName', 'turn'],
      ],
      2,
    ])
  })

  it.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('out of milk')
      },
    ],
    ['rejects', () => Promise.reject(new Error('out of milk')) as never],
    [
      'throws a text',
      () => {
        throw 'out of milk' as unknown as Error
      },
    ],
  ])('A52: a tool that %s gives an error, and its siblings finish', async (_how, execute) => {
    const bad = defineTool({ name: 'bad', description: 'b', inputSchema: {}, execute })
    const { results, result } = await outcomes([bad, echo('a').tool], [call('x', 'bad'), call('y', 'a')])
    expect(results.map(({ status, output }) => [status, output])).toEqual([
      ['error', { type: 'error-text', value: 'out of milk' }],
      ['result', { type: 'text', value: 'a said' }],
    ])
    expect(result.status).toBe('completed')
  })

  it('A58: the idempotency keys of any two calls differ', async () => {
    const a = echo('a')
    const { talk } = await outcomes([a.tool], [call('x', 'a'), call('y', 'a')])
    expect(a.calls.map((context) => context.idempotencyKey)).toEqual(['run_1/1/x', 'run_1/1/y'])
    expect(a.calls[0]).toMatchObject({ runId: 'run_1', turn: 1, step: 1, attempt: 1, toolName: 'a', agent: [] })
    const rows = talk.journal.commits.flat().flatMap((record) => (record.type === 'call' ? [record.call.idempotencyKey] : []))
    expect(new Set(rows)).toEqual(new Set(['run_1/1/x', 'run_1/1/y']))
  })

  it('A61: long output is cut to head and tail, with the number of characters left out', async () => {
    const long = `${'a'.repeat(60)}${'b'.repeat(60)}`
    const tools = [
      defineTool({ name: 'text', description: '', inputSchema: {}, maxOutputCharacters: 20, execute: () => long }),
      defineTool({ name: 'json', description: '', inputSchema: {}, maxOutputCharacters: 20, execute: () => ({ output: { long } }) }),
      defineTool({
        name: 'parts',
        description: '',
        inputSchema: {},
        maxOutputCharacters: 20,
        execute: () => ({ output: { type: 'content' as const, value: [{ type: 'text' as const, text: long }] } }),
      }),
      defineTool({
        name: 'fails',
        description: '',
        inputSchema: {},
        maxOutputCharacters: 20,
        execute: () => {
          throw new Error(long)
        },
      }),
    ]
    const { results } = await outcomes(
      tools,
      tools.map((tool, place) => call(`c${place}`, tool.name)),
    )
    const cut = `${'a'.repeat(10)}\n[… 100 characters left out …]\n${'b'.repeat(10)}`
    expect(results[0]?.output).toEqual({ type: 'text', value: cut })
    expect(results[1]?.output).toMatchObject({ type: 'text', value: expect.stringContaining('[… 111 characters left out …]') as string })
    expect(results[2]?.output).toEqual({ type: 'content', value: [{ type: 'text', text: cut }] })
    expect(results[3]?.output).toEqual({ type: 'error-text', value: cut })
  })

  it.each<[string, unknown]>([
    ['a date', { output: new Date(0) }],
    ['a number that JSON lacks', { output: Number.NaN }],
    ['a function inside', { output: { deep: [() => 1] } }],
    ['a bigint', { output: 1n }],
    ['details that are live', { output: 'x', details: new Map() }],
  ])('A62: output that is %s gives an error and the turn goes on', async (_what, value) => {
    const tool = defineTool({ name: 'odd', description: '', inputSchema: {}, execute: () => value as string })
    const { results, result } = await outcomes([tool], [call('x', 'odd')])
    expect(results[0]).toMatchObject({ status: 'error', output: { type: 'error-text' } })
    expect(result).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A63: details are in event and message, and not in the request', async () => {
    const tool = defineTool({
      name: 'a',
      description: '',
      inputSchema: {},
      execute: () => ({ output: 'shown', details: { secret: 'chart' } }),
    })
    const { talk, agent, results } = await outcomes([tool], [call('x', 'a')])
    expect(results[0]?.details).toEqual({ secret: 'chart' })
    expect(talk.journal.events.find((event) => event.type === 'tool-execution-end')?.message.details).toEqual({ secret: 'chart' })
    expect(textOfRequest(agent.model.calls[1])).toContain('shown')
    expect(textOfRequest(agent.model.calls[1])).not.toContain('chart')
  })

  it('A64: if every call ends with terminate, no further model call is made', async () => {
    const stop = defineTool({ name: 'stop', description: '', inputSchema: {}, execute: () => ({ output: 'bye', terminate: true }) })
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'stop'), call('y', 'stop')] }], { tools: [stop] })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'completed', reason: 'terminated', steps: 1 })
    expect(talk.journal.events.filter((event) => event.type === 'tool-execution-end').map((event) => event.terminate)).toEqual([true, true])
    const mixed = await outcomes([stop, echo('a').tool], [call('x', 'stop'), call('y', 'a')])
    expect(mixed.result).toMatchObject({ status: 'completed', reason: 'stop', steps: 2 })
  })

  it('A65: a call id that was used before is changed, in events, transcript and request', async () => {
    const a = echo('a')
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'a')] }, { toolCalls: [call('x', 'a'), call('x~2', 'a')] }, { text: 'done' }], {
      tools: [a.tool],
    })
    const { result } = await talk.play(agent, 'go')
    expect(a.calls.map((context) => context.toolCallId)).toEqual(['x', 'x~2', 'x~2~2'])
    // Some providers refuse the character `~`, so a request carries the id in another form.
    expect(resultsOf(agent.model.calls[2]).map(({ id }) => id)).toEqual(['x', 'x_2', 'x_2_2'])
    expect(result.status).toBe('completed')
    const deltas = talk.journal.log.filter((event) => event.type === 'tool-call-delta').map((event) => event.toolCallId)
    expect(deltas).toEqual(['x', 'x~2', 'x~2~2'])
  })

  it('passes context and session to the tool, and the result of toModelOutput to the model', async () => {
    const seen: unknown[] = []
    const tool = defineTool({
      name: 'a',
      description: '',
      inputSchema: {},
      execute: (_input, { context, sessionKey, messages }) => {
        seen.push(context, sessionKey, messages.length)
        return { output: { rows: 3 } }
      },
      toModelOutput: ({ output }) => ({ type: 'text', value: `rows: ${JSON.stringify(output)}` }),
    })
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'a')] }, { text: 'done' }], { tools: [tool] })
    await talk.play(agent, 'go', { context: { tenant: 't' }, sessionKey: 's:1' })
    expect(seen).toEqual([{ tenant: 't' }, 's:1', 2])
    expect(resultsOf(agent.model.calls[1])).toMatchObject([{ output: { type: 'text', value: 'rows: {"rows":3}' } }])
  })
})
