import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/index.ts'
import type { AgentEvent } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo } from '../../support/tools.ts'
import { guardrail } from '../guardrails/support.ts'
import { extension } from './support.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')
const throwing = () => {
  throw new Error('bad')
}

/** Creates a tool whose input is validated, and a list of its inputs. */
function reader() {
  const inputs: unknown[] = []
  const tool = defineTool({
    name: 'read',
    description: 'reads',
    inputSchema: z.object({ path: z.string() }),
    effect: 'pure',
    execute: (input) => {
      inputs.push(input)
      return `content of ${input.path}`
    },
  })
  return { tool, inputs }
}

function outcomeOf(events: readonly AgentEvent[], toolCallId = 'x') {
  return events.find((event) => event.type === 'tool-execution-end' && event.toolCallId === toolCallId)
}

describe('tools of extensions', () => {
  it("A5: run like the agent's own tools, and lose to an own tool of the same name", async () => {
    const talk = conversation()
    const [own, lost, extra] = [echo('same'), echo('same'), echo('extra')]
    const given = extension('more', {}, { tools: [lost.tool, extra.tool] })
    const agent = agentOf([{ toolCalls: ['same', 'extra'].map((name) => ({ id: name, name, input: {} })) }, { text: 'ok' }], {
      tools: [own.tool],
      extensions: [given],
    })
    await talk.play(agent, 'go')
    expect([own, lost, extra].map(({ calls }) => calls.length)).toEqual([1, 0, 1])
    expect(agent.diagnostics).toMatchObject([{ kind: 'tool', name: 'same' }])
  })
})

describe('tool calls', () => {
  it('A147: the tool, the intent and later hooks see the modified input', async () => {
    const talk = conversation()
    const { tool, inputs } = reader()
    const seen: unknown[] = []
    const agent = agentOf([call('read', 'x', { path: 'a' }), { text: 'ok' }], {
      tools: [tool],
      extensions: [
        extension('a', { onToolCall: () => ({ action: 'modify', input: { path: 'b' } }) }),
        extension('b', {
          onToolCall: ({ input }) => void seen.push(input),
          onToolResult: ({ call: given }) => void seen.push(given.input),
        }),
      ],
    })
    const { events } = await talk.play(agent, 'go')
    expect(inputs).toEqual([{ path: 'b' }])
    expect(seen).toEqual([{ path: 'b' }, { path: 'b' }])
    expect(events.find((event) => event.type === 'tool-execution-start')).toMatchObject({ input: { path: 'b' } })
  })

  it('A147: hooks and guardrails get the id of the call, its tool, effect and key', async () => {
    const talk = conversation()
    const { tool } = reader()
    const told: unknown[] = []
    const options = {
      tools: [tool],
      extensions: [
        extension('watch', {
          onToolCall: ({ call: given }) => void told.push(given),
          onToolResult: ({ call: given }) => void told.push(given),
        }),
      ],
      guardrails: [guardrail('watch', { beforeCall: (given) => void told.push(given) })],
    }
    await talk.play(agentOf([call('read', 'x', { path: 'a' }), { text: 'ok' }], options), 'go')
    const described = { toolCallId: 'x', toolName: 'read', input: { path: 'a' }, effect: 'pure', idempotencyKey: 'run_1/1/x' }
    expect(told).toMatchObject([described, described, described])
  })

  it('A147: a modified input that is not valid denies the call', async () => {
    const talk = conversation()
    const { tool, inputs } = reader()
    const wrong = extension('wrong', { onToolCall: () => ({ action: 'modify', input: { path: 1 } }) })
    const agent = agentOf([call('read', 'x', { path: 'a' }), { text: 'ok' }], { tools: [tool], extensions: [wrong] })
    const { events } = await talk.play(agent, 'go')
    expect(inputs).toEqual([])
    expect(outcomeOf(events)).toMatchObject({ executed: 'no', message: { status: 'denied' } })
    expect(errorsOf(events)).toMatchObject([{ source: 'extension', name: 'wrong', hook: 'onToolCall', fatal: false }])
  })

  it.each([
    [
      { action: 'reject-and-continue', message: 'not today' } as const,
      { status: 'denied', output: { type: 'execution-denied', reason: 'not today' } },
    ],
    [
      { action: 'synthesize', output: 'made up', details: { by: 'x' } } as const,
      { status: 'result', output: { type: 'text', value: 'made up' }, details: { by: 'x' } },
    ],
  ])('A148: %o settles the call without running the tool', async (decision, message) => {
    const talk = conversation()
    const { tool, inputs } = reader()
    const agent = agentOf([call('read', 'x', { path: 'a' }), { text: 'ok' }], {
      tools: [tool],
      extensions: [extension('a', { onToolCall: () => decision })],
    })
    const { events, result } = await talk.play(agent, 'go')
    expect(inputs).toEqual([])
    expect(outcomeOf(events)).toMatchObject({ executed: 'no', message })
    expect(result.status).toBe('completed')
  })

  it('A148: error ends the turn as policy-error, every call with its outcome', async () => {
    const talk = conversation()
    const { tool, inputs } = reader()
    const policy = extension('policy', {
      onToolCall: ({ call: { toolCallId } }) => (toolCallId === 'b' ? { action: 'error', message: 'never' } : undefined),
    })
    const calls = { toolCalls: ['a', 'b', 'c'].map((id) => ({ id, name: 'read', input: { path: id } })) }
    const { result } = await talk.play(agentOf([calls], { tools: [tool], extensions: [policy] }), 'go')
    expect(result).toMatchObject({
      status: 'error',
      reason: 'policy-error',
      error: { code: 'policy-error', message: expect.stringContaining('never') as string },
    })
    expect(inputs).toEqual([])
    expect(result.messages.filter(({ role }) => role === 'tool-result')).toHaveLength(3)
  })

  it('A144: a failing onToolCall denies only that call', async () => {
    const talk = conversation()
    const { tool, inputs } = reader()
    const broken = extension('broken', {
      onToolCall: ({ call: { toolCallId } }) => {
        if (toolCallId === 'a') throwing()
      },
    })
    const calls = { toolCalls: ['a', 'b'].map((id) => ({ id, name: 'read', input: { path: id } })) }
    const { events, result } = await talk.play(agentOf([calls, { text: 'ok' }], { tools: [tool], extensions: [broken] }), 'go')
    expect(inputs).toEqual([{ path: 'b' }])
    expect(outcomeOf(events, 'a')).toMatchObject({ message: { status: 'denied' } })
    expect(result.status).toBe('completed')
  })

  it('A149: onToolResult sees executed, synthesized, denied and failed calls', async () => {
    const talk = conversation()
    const seen: string[] = []
    const failing = defineTool({ name: 'fail', description: '', inputSchema: {}, execute: throwing })
    const decide = extension('decide', {
      onToolCall: ({ call: { toolCallId } }) => {
        if (toolCallId === 'synthesized') return { action: 'synthesize', output: 1 }
        return toolCallId === 'denied' ? { action: 'reject-and-continue', message: 'no' } : { action: 'allow' }
      },
      onToolResult: ({ call: { toolCallId }, status, result }) => {
        seen.push(`${toolCallId} ${status} ${result.executed}`)
        return { output: `${toolCallId} patched` }
      },
    })
    const calls = [
      ['executed', 'echo'],
      ['synthesized', 'echo'],
      ['denied', 'echo'],
      ['failed', 'fail'],
      ['unknown', 'nowhere'],
    ] as const
    const agent = agentOf([{ toolCalls: calls.map(([id, name]) => ({ id, name, input: {} })) }, { text: 'ok' }], {
      tools: [echo('echo').tool, failing],
      extensions: [decide],
    })
    await talk.play(agent, 'go')
    expect(seen.toSorted()).toEqual([
      'denied denied no',
      'executed result here',
      'failed error here',
      'synthesized result no',
      'unknown error no',
    ])
    expect(resultsOf(agent.model.calls[1]).map(({ output }) => JSON.stringify(output))).toEqual(
      calls.map(([id]) => expect.stringContaining(`${id} patched`) as string),
    )
  })

  it('A149: a call of a truncated answer cannot be given a result', async () => {
    const talk = conversation()
    const { tool } = reader()
    const patch = extension('patch', { onToolResult: () => ({ status: 'result', output: 'fine' }) })
    const agent = agentOf([{ ...call('read', 'x', { path: 'a' }), finish: 'length' }, { text: 'ok' }], {
      tools: [tool],
      extensions: [patch],
    })
    const { events } = await talk.play(agent, 'go')
    expect(outcomeOf(events)).toMatchObject({ message: { status: 'error' } })
    expect(errorsOf(events)).toMatchObject([{ name: 'patch', hook: 'onToolResult' }])
  })
})
