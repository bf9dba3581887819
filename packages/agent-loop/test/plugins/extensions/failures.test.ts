import { describe, expect, it } from 'vitest'
import type { Extension } from '../../../src/contract/extension.ts'
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
const invalid = () => Promise.resolve({ ok: false as const, issues: [{ path: '/path', message: 'must be text' }] })
const messages = [
  { role: 'user' as const, id: 'm1', content: 'hi' },
  { role: 'tool-result' as const, id: 'm2', toolCallId: 'c', toolName: 't', output: { type: 'text' as const, value: '' } },
]
const request = { instructions: '', messages, tools: [], runtimeParams: {}, attempt: 1 }
const compaction = { trigger: 'manual' as const, messages, tokensBefore: 1 }

describe('hooks that fail', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('bad')
      },
      'bad',
    ],
    ['rejects', () => Promise.reject(new Error('bad')), 'bad'],
    ['returns something else', () => ({ action: 'transfrom' }), 'must have an action of continue, transform, handled'],
  ])('A143: a hook that %s gives one report, and the chain goes on with the last good value', async (_how, bad, message) => {
    const { hooks, failures } = bench([
      extension('a', { onInput: () => ({ action: 'transform', input: 'A' }) }),
      extension('broken', untyped({ onInput: bad })),
      extension('c', { onInput: ({ input }) => ({ action: 'transform', input: `${(input as { content: string }).content}C` }) }),
    ])
    const verdict = await askInput(hooks, { input: 'x', source: 'user' })
    expect(verdict).toEqual({ action: 'transform', input: { role: 'user', content: 'AC' } })
    expect(failures).toEqual([{ extension: 'broken', hook: 'onInput', message: expect.stringContaining(message) as string, fatal: false }])
  })

  it('A143: the chain goes on without a hook that hangs after its timeout, and drops its late value', async () => {
    const late = Promise.withResolvers<{ action: 'transform'; input: string }>()
    const { hooks, failures, clock } = bench([extension('slow', { onInput: () => late.promise }, { timeoutMs: 300 })])
    const verdict = askInput(hooks, { input: 'x', source: 'user' })
    await clock.advance(299)
    expect(failures).toEqual([])
    await clock.advance(1)
    late.resolve({ action: 'transform', input: 'late' })
    expect(await verdict).toEqual({ action: 'continue' })
    expect(failures).toMatchObject([{ extension: 'slow', hook: 'onInput', message: 'no answer within 300 ms' }])
    expect(clock.pendingTimers).toBe(0)
  })

  it('A143: a rejection after the timeout is no unhandled rejection', async () => {
    const late = Promise.withResolvers<void>()
    const { hooks, failures, clock } = bench([extension('slow', { onStepStart: () => late.promise })])
    const told = hooks.tell('onStepStart', { step: 1 })
    await clock.advance(5_000)
    await told
    late.reject(new Error('too late'))
    await clock.advance(1)
    expect(failures).toHaveLength(1)
  })

  it.each<[string, unknown, (extensions: readonly Extension[]) => Promise<{ failures: readonly unknown[] }>]>([
    ['onInput', { action: 'transform' }, onInput],
    ['onInput', { action: 'transform', input: { toolResults: [{ toolCallId: 'c', output: 1 }] } }, onInput],
    ['onInput', { action: 'handled', reply: 1 }, onInput],
    ['onInput', { action: 'continue', input: 'x' }, onInput],
    ['onInput', null, onInput],
    ['beforeAgentStart', { instructions: 1 }, beforeAgentStart],
    ['beforeAgentStart', { append: 'text' }, beforeAgentStart],
    ['beforeAgentStart', { append: [1] }, beforeAgentStart],
    ['transformContext', [], transformContext],
    ['transformContext', {}, transformContext],
    ['transformContext', { messages: [{ role: 'system', content: 'x' }] }, transformContext],
    ['transformContext', { messages: [{ role: 'user', content: [{}] }] }, transformContext],
    ['transformContext', { messages: [{ role: 'user', content: 'x', at: new Date(0) }] }, transformContext],
    ['transformContext', { messages: Array(1) }, transformContext],
    ['beforeModelCall', { runtimeParams: { temperature: 9 } }, beforeModelCall],
    ['beforeModelCall', { activeTools: [1] }, beforeModelCall],
    ['beforeModelCall', { toolChoice: 'read' }, beforeModelCall],
    ['beforeModelCall', { model: 'x' }, beforeModelCall],
    ['onToolCall', 'allow', onToolCall],
    ['onToolCall', { action: 'modify' }, onToolCall],
    ['onToolCall', { action: 'synthesize', output: 1n }, onToolCall],
    ['onToolCall', { action: 'error' }, onToolCall],
    ['onToolResult', { status: 'done' }, onToolResult],
    ['onToolResult', { isError: 'yes' }, onToolResult],
    ['onToolResult', { output: () => undefined }, onToolResult],
    ['onToolResult', { content: 'x' }, onToolResult],
    ['beforeCompaction', { reason: 'x' }, beforeCompaction],
    ['beforeCompaction', { cancel: true, instructions: 'x' }, beforeCompaction],
    ['beforeCompaction', { compaction: { summary: '', firstKeptMessageId: 'm1' } }, beforeCompaction],
    ['beforeCompaction', { compaction: { summary: 's', firstKeptMessageId: 'm9' } }, beforeCompaction],
    ['beforeCompaction', { compaction: { summary: 's', firstKeptMessageId: 'm2' } }, beforeCompaction],
  ])('A143: %s that returns %o has failed', async (hook, returned, run) => {
    const { failures } = await run([extension('a', untyped({ [hook]: () => returned }))])
    expect(failures).toMatchObject([{ extension: 'a', hook, fatal: false }])
  })

  it('A143: with fail the report is fatal, and the chain ends', async () => {
    const { hooks, failures } = bench([
      extension(
        'a',
        {
          onStepEnd: () => {
            throw new Error('bad')
          },
        },
        { onError: 'fail' },
      ),
      extension('b', { onStepEnd: () => expect.fail('b is told') }),
    ])
    await hooks.tell('onStepEnd', { step: 1, toolCalls: [], text: '' })
    expect(failures).toEqual([{ extension: 'a', hook: 'onStepEnd', message: 'bad', fatal: true }])
  })

  it('A143: a failure after the end of the turn can no longer end it', async () => {
    const broken = extension(
      'a',
      {
        onSettled: () => {
          throw new Error('bad')
        },
      },
      { onError: 'fail' },
    )
    const { hooks, failures } = bench([broken], { hasEnded: () => true })
    await hooks.tell('onSettled', { turn: 1 })
    expect(failures).toMatchObject([{ fatal: false }])
  })

  it.each([[undefined], ['reject' as const]])('A144: a failing onToolCall denies that call (onError %s)', async (onError) => {
    const { hooks, failures } = bench([
      extension(
        'a',
        {
          onToolCall: ({ call }) => {
            if (call.toolCallId === 'c1') throw new Error('bad')
          },
        },
        onError ? { onError } : {},
      ),
    ])
    expect(await askCall(hooks, callOf(), valid)).toEqual({
      action: 'reject-and-continue',
      message: 'the extension a failed: bad',
      extension: 'a',
    })
    expect(await askCall(hooks, { ...callOf(), toolCallId: 'c2' }, valid)).toEqual({ action: 'allow' })
    expect(failures).toMatchObject([{ hook: 'onToolCall', fatal: false }])
  })

  it('A144: with ignore the call goes on, with fail it is denied and the turn must end', async () => {
    const broken = {
      onToolCall: () => {
        throw new Error('bad')
      },
    }
    expect(await askCall(bench([extension('a', broken, { onError: 'ignore' })]).hooks, callOf(), valid)).toEqual({ action: 'allow' })
    const failing = bench([extension('a', broken, { onError: 'fail' })])
    expect(await askCall(failing.hooks, callOf(), valid)).toMatchObject({ action: 'reject-and-continue' })
    expect(failing.failures).toMatchObject([{ extension: 'a', fatal: true }])
  })

  it('A147: a modified input that does not validate is an error of the hook', async () => {
    const { hooks, failures } = bench([extension('a', { onToolCall: () => ({ action: 'modify', input: { path: 1 } }) })])
    expect(await askCall(hooks, callOf(), invalid)).toMatchObject({ action: 'reject-and-continue' })
    expect(failures).toMatchObject([{ message: 'the modified input is not valid: /path: must be text' }])
  })

  it('A149: a call that may have no result cannot be given one', async () => {
    const { hooks, failures } = bench([extension('a', { onToolResult: () => ({ status: 'result' }) })])
    const cancelled = resultOf('not run', { status: 'cancelled', output: { type: 'error-text', value: 'not run' } })
    expect(await askResult(hooks, callOf(), cancelled, true)).toBe(cancelled)
    expect(failures).toHaveLength(1)
    expect(await askResult(hooks, callOf(), cancelled)).toMatchObject({ status: 'result', output: { type: 'text', value: 'not run' } })
  })
})

async function onInput(extensions: readonly Extension[]) {
  const made = bench(extensions)
  expect(await askInput(made.hooks, { input: 'x', source: 'user' })).toEqual({ action: 'continue' })
  return made
}

async function beforeAgentStart(extensions: readonly Extension[]) {
  const made = bench(extensions)
  expect(await askAgentStart(made.hooks, { input: 'x', instructions: 'own' })).toEqual({ instructions: 'own', append: [] })
  return made
}

async function transformContext(extensions: readonly Extension[]) {
  const made = bench(extensions)
  expect(await askContext(made.hooks, messages)).toEqual(messages)
  return made
}

async function beforeModelCall(extensions: readonly Extension[]) {
  const made = bench(extensions)
  expect(await askRequest(made.hooks, request)).toEqual({})
  return made
}

async function onToolCall(extensions: readonly Extension[]) {
  const made = bench(extensions)
  expect(await askCall(made.hooks, callOf(), valid)).toMatchObject({ action: 'reject-and-continue' })
  return made
}

async function onToolResult(extensions: readonly Extension[]) {
  const made = bench(extensions)
  const result = resultOf('own')
  expect(await askResult(made.hooks, callOf(), result)).toBe(result)
  return made
}

async function beforeCompaction(extensions: readonly Extension[]) {
  const made = bench(extensions)
  expect(await askCompaction(made.hooks, compaction)).toBeUndefined()
  return made
}
