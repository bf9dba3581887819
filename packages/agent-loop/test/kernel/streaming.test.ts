import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/index.ts'
import type { Tool, ToolChunk, ToolReturn } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { gated, latch, until } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

function streaming(generate: () => AsyncGenerator<ToolChunk, ToolReturn | void>): Tool {
  return defineTool({ name: 'stream', description: '', inputSchema: {}, execute: generate })
}

async function streamed(tool: Tool) {
  const talk = conversation()
  const agent = agentOf([{ toolCalls: [call('x', 'stream')] }, { text: 'done' }], { tools: [tool] })
  const { result } = await talk.play(agent, 'go')
  const deltas = talk.journal.log.flatMap((event) => (event.type === 'tool-execution-delta' ? [event.delta] : []))
  return { talk, deltas, output: result.messages.find((message) => message.role === 'tool-result')?.output }
}

describe('streaming tools', () => {
  it('A53: chunks become deltas in order, and the return value is the output', async () => {
    const { deltas, output } = await streamed(
      streaming(async function* () {
        yield 'a'
        yield { type: 'delta', delta: 'b' }
        yield ''
        yield 'c'
        return { output: { n: 1 } }
      }),
    )
    expect(deltas).toEqual(['a', 'b', 'c'])
    expect(output).toEqual({ type: 'json', value: { n: 1 } })
  })

  it('A53: a complete chunk is the output and ends the call', async () => {
    let closed = false
    const { deltas, output } = await streamed(
      streaming(async function* () {
        try {
          yield 'a'
          yield { type: 'complete', output: 'whole' }
          yield 'never'
        } finally {
          closed = true
        }
      }),
    )
    expect([deltas, output, closed]).toEqual([['a'], { type: 'text', value: 'whole' }, true])
  })

  it('A54: the output of a generator that yields only deltas is the joined deltas', async () => {
    const { output } = await streamed(
      streaming(async function* () {
        yield 'old'
        yield { type: 'delta', delta: 'a', replace: true }
        yield 'b'
      }),
    )
    expect(output).toEqual({ type: 'text', value: 'ab' })
  })

  it('A53: a generator that throws gives an error', async () => {
    const { deltas, output } = await streamed(
      streaming(async function* () {
        yield 'a'
        throw new Error('lost')
      }),
    )
    expect([deltas, output]).toEqual([['a'], { type: 'error-text', value: 'lost' }])
  })

  it('A60: chunks that a tool emits after its outcome are dropped', async () => {
    let late = (): void => {}
    const tool = defineTool({
      name: 'stream',
      description: '',
      inputSchema: {},
      execute: (_input, { emit }) => {
        emit('early')
        late = () => emit('late')
        return 'over'
      },
    })
    const wait = gated('wait')
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'stream'), call('y', 'wait')] }, { text: 'done' }], { tools: [tool, wait.tool] })
    const run = talk.run(agent, 'go')
    await until(() => talk.types().includes('tool-execution-end'))
    late()
    wait.open('y')
    await run.result()
    expect(talk.journal.log.flatMap((event) => (event.type === 'tool-execution-delta' ? [event.delta] : []))).toEqual(['early'])
  })

  it('A60: a generator that goes on after its timeout is closed at its next chunk', async () => {
    const closed = latch()
    const next = latch()
    const tool = defineTool({
      name: 'stream',
      description: '',
      inputSchema: {},
      effect: 'pure',
      timeoutMs: 100,
      async *execute() {
        try {
          await next.promise
          yield 'late'
          yield 'later'
        } finally {
          closed.resolve()
        }
      },
    })
    const talk = conversation()
    const run = talk.run(agentOf([{ toolCalls: [call('x', 'stream')] }, { text: 'done' }], { tools: [tool], abortGraceMs: 10 }), 'go')
    await until(() => talk.types().includes('tool-execution-start'))
    await talk.clock.advance(110)
    expect((await run.result()).status).toBe('completed')
    next.resolve()
    await closed.promise
    expect(talk.types()).not.toContain('tool-execution-delta')
  })
})
