import type { Message } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import {
  askAgentStart,
  askCall,
  askCompaction,
  askContext,
  askInput,
  askRequest,
  askResult,
} from '../../../src/plugins/extensions/ask-hooks.ts'
import { bench, callOf, extension, resultOf, untyped } from './support.ts'

const valid = (value: unknown) => Promise.resolve({ ok: true as const, value: value as never })
const messages: readonly Message[] = [
  Object.freeze({ role: 'user' as const, id: 'm1', content: 'one' }),
  Object.freeze({ role: 'user' as const, id: 'm2', content: 'two' }),
]

describe('order of hooks', () => {
  it('A142: plain hooks run in list order, each awaited', async () => {
    const seen: string[] = []
    const waiting = (name: string) =>
      extension(name, {
        onStepStart: async ({ step }) => {
          seen.push(`${name} begins ${step}`)
          await Promise.resolve()
          seen.push(`${name} ends`)
        },
      })
    await bench([waiting('a'), waiting('b')]).hooks.tell('onStepStart', { step: 3 })
    expect(seen).toEqual(['a begins 3', 'a ends', 'b begins 3', 'b ends'])
  })

  it('A142: hooks transform an input one after the other, in its stored form', async () => {
    const { hooks } = bench([
      extension('a', { onInput: ({ input }) => ({ action: 'transform', input: [`${input as string}, then a`] }) }),
      extension('quiet', { onInput: () => ({ action: 'continue' }) }),
      extension('b', { onInput: ({ input, source }) => ({ action: 'transform', input: `${JSON.stringify(input)} from ${source}` }) }),
    ])
    const verdict = await askInput(hooks, { input: 'hello', source: 'user' })
    const content = '{"role":"user","content":[{"type":"text","text":"hello, then a"}]} from user'
    expect(verdict).toEqual({ action: 'transform', input: { role: 'user', content } })
  })

  it('A145: handled stops the chain', async () => {
    const { hooks } = bench([
      extension('a', { onInput: () => ({ action: 'handled', reply: 'done' }) }),
      extension('b', { onInput: () => expect.fail('b is asked') }),
    ])
    expect(await askInput(hooks, { input: 'x', source: 'user' })).toEqual({ action: 'handled', reply: 'done', extension: 'a' })
  })

  it('A142: the last text of instructions that is not empty wins, and appended texts add up', async () => {
    const seen: string[] = []
    const { hooks } = bench([
      extension('a', { beforeAgentStart: () => ({ instructions: 'A', append: ['one'] }) }),
      extension('b', {
        beforeAgentStart: ({ instructions }) => {
          seen.push(instructions)
          return { instructions: '', append: [{ role: 'user', content: 'two' }] }
        },
      }),
    ])
    const verdict = await askAgentStart(hooks, { input: 'x', instructions: 'own' })
    expect(seen).toEqual(['A'])
    expect(verdict).toEqual({
      instructions: 'A',
      append: [
        { role: 'user', content: 'one' },
        { role: 'user', content: 'two' },
      ],
    })
  })

  it('A146: hooks change messages of a request one after the other, as copies', async () => {
    const made = { role: 'user' as const, content: 'made' }
    const { hooks } = bench([
      extension('a', { transformContext: (event) => ({ messages: [...event.messages.slice(1), made] }) }),
      extension('b', { transformContext: (event) => ({ messages: [...event.messages].reverse() }) }),
    ])
    const changed = await askContext(hooks, messages)
    made.content = 'changed later'
    expect(changed).toEqual([{ role: 'user', content: 'made' }, messages[1]])
    expect(changed[1]).toBe(messages[1])
    expect(messages).toHaveLength(2)
  })

  it('A146: without a listener the messages are the same objects', async () => {
    expect(await askContext(bench([]).hooks, messages)).toBe(messages)
  })

  it('A142: a later request patch wins, field by field, and its hook sees the earlier patches', async () => {
    const seen: unknown[] = []
    const { hooks } = bench([
      extension('a', { beforeModelCall: () => ({ runtimeParams: { temperature: 1, topK: 3 }, activeTools: ['read'] }) }),
      extension('b', {
        beforeModelCall: ({ runtimeParams, tools }) => {
          seen.push(runtimeParams, tools)
          return { runtimeParams: { temperature: 0 }, toolChoice: 'required' }
        },
      }),
    ])
    const event = { instructions: '', messages, tools: ['read', 'write'], runtimeParams: { maxTokens: 5 }, attempt: 1 }
    expect(await askRequest(hooks, event)).toEqual({
      runtimeParams: { temperature: 0, topK: 3 },
      activeTools: ['read'],
      toolChoice: 'required',
    })
    expect(seen).toEqual([{ maxTokens: 5, temperature: 1, topK: 3 }, ['read']])
  })

  it('A147: a modified input is validated and passed to the next hook', async () => {
    const seen: unknown[] = []
    const { hooks } = bench([
      extension('a', { onToolCall: () => ({ action: 'modify', input: { path: 'b' } }) }),
      extension('b', {
        onToolCall: ({ call, input }) => {
          seen.push(call.input, input)
          return { action: 'allow' }
        },
      }),
    ])
    const verdict = await askCall(hooks, callOf(), () => valid({ path: 'b', checked: true }))
    expect(verdict).toEqual({ action: 'allow', modified: { input: { path: 'b' }, value: { path: 'b', checked: true } } })
    expect(seen).toEqual([{ path: 'b' }, { path: 'b' }])
  })

  it.each([
    [{ action: 'reject-and-continue', message: 'no' }],
    [{ action: 'synthesize', output: { answer: 1 }, details: 'shown' }],
    [{ action: 'error', message: 'never' }],
  ])('A148: %o stops the chain', async (decision) => {
    const { hooks } = bench([
      extension('a', untyped({ onToolCall: () => decision })),
      extension('b', { onToolCall: () => expect.fail('b is asked') }),
    ])
    expect(await askCall(hooks, callOf(), valid)).toEqual({ ...decision, extension: 'a' })
  })

  it('A148: an extension that allows a call does not keep the next one from rejecting it', async () => {
    const { hooks } = bench([
      extension('a', { onToolCall: () => ({ action: 'allow' }) }),
      extension('b', { onToolCall: () => ({ action: 'reject-and-continue', message: 'no' }) }),
    ])
    expect(await askCall(hooks, callOf(), valid)).toMatchObject({ action: 'reject-and-continue', extension: 'b' })
  })

  it('A149: patches of a result accumulate field by field, each hook sees the result so far', async () => {
    const seen: unknown[] = []
    const { hooks } = bench([
      extension('a', { onToolResult: () => ({ output: 'patched', terminate: true }) }),
      extension('b', {
        onToolResult: ({ result, status }) => {
          seen.push(result.output, status)
          return { isError: true }
        },
      }),
      extension('c', {
        onToolResult: ({ result, status }) => {
          seen.push(result.output, status)
          return { details: { by: 'c' }, terminate: false }
        },
      }),
    ])
    const result = await askResult(hooks, callOf(), resultOf('own'))
    expect(seen).toEqual([{ type: 'text', value: 'patched' }, 'result', { type: 'error-text', value: 'patched' }, 'error'])
    expect(result).toEqual({
      status: 'error',
      output: { type: 'error-text', value: 'patched' },
      executed: 'here',
      details: { by: 'c' },
      terminate: false,
    })
  })

  it('A140: the first cancel or replacement of a compaction wins', async () => {
    const event = { trigger: 'manual' as const, messages, tokensBefore: 10 }
    const cancelling = extension('a', { beforeCompaction: () => ({ cancel: true, reason: 'not now' }) })
    const compaction = { summary: 'short', firstKeptMessageId: 'm2' }
    const replacing = extension('b', { beforeCompaction: () => ({ compaction }) })
    expect(await askCompaction(bench([cancelling, replacing]).hooks, event)).toEqual({ cancel: true, reason: 'not now' })
    expect(await askCompaction(bench([replacing, cancelling]).hooks, event)).toEqual({ compaction })
  })

  it('A140: instructions of a compaction add up', async () => {
    const seen: unknown[] = []
    const { hooks } = bench([
      extension('a', { beforeCompaction: () => ({ instructions: 'keep names' }) }),
      extension('b', {
        beforeCompaction: ({ instructions }) => {
          seen.push(instructions)
          return { instructions: 'keep dates' }
        },
      }),
    ])
    const event = { trigger: 'manual' as const, messages, tokensBefore: 10, instructions: 'own' }
    expect(await askCompaction(hooks, event)).toEqual({ instructions: 'keep names\n\nkeep dates' })
    expect(seen).toEqual(['own\n\nkeep names'])
  })

  it('each hook without a return value calls its handler with its event', async () => {
    const seen: unknown[] = []
    const names = [
      'onTurnStart',
      'onStepStart',
      'onStepEnd',
      'afterModelCall',
      'afterCompaction',
      'onRetryStart',
      'onRetryEnd',
      'onAgentEnd',
      'onSavePoint',
      'onSettled',
    ] as const
    const handlers = Object.fromEntries(
      names.map((name) => [name, (event: unknown, context: { runId: string }) => seen.push([name, event, context.runId])]),
    )
    const { hooks } = bench([extension('a', untyped(handlers))])
    for (const name of names) await hooks.tell(name, { of: name } as never)
    expect(seen).toEqual(names.map((name) => [name, { of: name }, 'run of a']))
  })

  it('A13: events are frozen, and the objects of the caller are not', async () => {
    const toolCalls = [callOf()]
    const event = { step: 1, toolCalls, text: '' }
    const changes: boolean[] = []
    const attempt = (change: () => void): void => {
      try {
        change()
        changes.push(true)
      } catch {
        changes.push(false)
      }
    }
    const onStepEnd = (given: { toolCalls: unknown[] }): void => {
      attempt(() => given.toolCalls.push(1))
      attempt(() => Object.assign(given.toolCalls[0] as object, { toolName: 'other' }))
      attempt(() => Object.assign(given, { step: 2 }))
    }
    await bench([extension('a', untyped({ onStepEnd }))]).hooks.tell('onStepEnd', event)
    expect(changes).toEqual([false, false, false])
    expect(Object.isFrozen(toolCalls)).toBe(false)
    expect(event).toEqual({ step: 1, toolCalls: [callOf()], text: '' })
  })
})
