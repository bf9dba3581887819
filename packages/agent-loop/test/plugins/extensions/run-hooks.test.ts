import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { isDelta } from '../../../src/events/index.ts'
import type { AgentEvent, AgentResult, Hooks } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { echo, remote, until } from '../../support/tools.ts'
import { extension, untyped } from './support.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')
const overloaded = Object.assign(new Error('overloaded'), { statusCode: 503 })
const noWait = { maxRetries: 1, baseDelayMs: 0, jitter: 0 }

describe('hooks of model calls', () => {
  it('onRetryStart and onRetryEnd get the fields of their events, which are stored before', async () => {
    const talk = conversation()
    const seen: unknown[] = []
    const log = (type: string) => talk.journal.log.filter((event) => event.type === type)
    const watch = extension('watch', {
      onRetryStart: (fields) => void seen.push(['start', fields, log('retry-start').length]),
      onRetryEnd: (fields) => void seen.push(['end', fields, log('retry-end').length]),
    })
    const agent = agentOf([{ error: overloaded }, { text: 'ok' }], { retry: noWait, extensions: [watch] })
    expect((await talk.play(agent, 'go')).result.status).toBe('completed')
    const fieldsOf = (type: string) => {
      const {
        type: _type,
        at: _at,
        seq: _seq,
        runId: _runId,
        turn: _turn,
        ...fields
      } = (log(type)[0] ?? {}) as unknown as Record<string, unknown>
      return fields
    }
    expect(seen).toEqual([
      ['start', fieldsOf('retry-start'), 1],
      ['end', fieldsOf('retry-end'), 1],
    ])
  })

  it('A143: hooks that throw do not keep the retry from being made', async () => {
    const talk = conversation()
    const bad = () => {
      throw new Error('bad')
    }
    const agent = agentOf([{ error: overloaded }, { text: 'ok' }], {
      retry: noWait,
      extensions: [extension('broken', { onRetryStart: bad, onRetryEnd: bad })],
    })
    expect((await talk.play(agent, 'go')).result.text).toBe('ok')
    expect(errorsOf(talk.journal.log)).toMatchObject([{ hook: 'onRetryStart' }, { hook: 'onRetryEnd' }])
  })

  it('A109: an abort out of onRetryStart ends the wait at once', async () => {
    const talk = conversation()
    const agent = agentOf([{ error: overloaded }], {
      retry: { jitter: 0 },
      extensions: [extension('stop', { onRetryStart: (_event, { abort }) => abort() })],
    })
    const { result } = await talk.play(agent, 'go')
    expect(result.status).toBe('aborted')
    expect(talk.types().slice(-6)).toEqual(['retry-start', 'retry-end', 'step-end', 'turn-end', 'save-point', 'settled'])
  })

  it('afterModelCall gets each answer that is not withdrawn, after it is stored, with its usage', async () => {
    const talk = conversation()
    const seen: unknown[] = []
    const watch = extension('watch', {
      afterModelCall: ({ message, usage }) =>
        void seen.push([message.stopReason, usage.inputTokens, talk.types().at(-1), Object.isFrozen(message.content)]),
    })
    const agent = agentOf([{ error: overloaded }, call('echo'), { text: 'ok' }], {
      tools: [echo('echo').tool],
      retry: noWait,
      extensions: [watch],
    })
    await talk.play(agent, 'go')
    expect(seen).toEqual([
      ['tool-calls', 10, 'retry-end', true],
      ['stop', 10, 'message-end', true],
    ])
  })
})

describe('onEvent', () => {
  it('A47: gets every event of the run, deeply frozen, and deltas too with deltas: true', async () => {
    const talk = conversation()
    const seen: AgentEvent[] = []
    const loose: string[] = []
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) loose.push(path)
      for (const [key, item] of Object.entries(value)) walk(item, `${path}.${key}`)
    }
    const watch = extension('watch', { onEvent: (event) => (walk(event, event.type), void seen.push(event)) }, { deltas: true })
    const file = { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'AAAA' } }
    const answer = { reasoning: 'hm', text: 'so', parts: [file], ...call('echo', 'x', { deep: { list: [1] } }) }
    const agent = agentOf([answer, { text: 'ok' }], { tools: [echo('echo').tool], extensions: [watch] })
    const { events } = await talk.play(agent, 'go')
    expect(loose).toEqual([])
    expect(seen).toEqual(events)
    expect(seen.filter(isDelta).map(({ type }) => type)).toEqual(expect.arrayContaining(['tool-call-end', 'content-part']))
  })

  it('A143: a failure after the end of the turn can no longer end it', async () => {
    const talk = conversation()
    const late = extension(
      'late',
      {
        onEvent: ({ type }) => {
          if (type === 'turn-end') throw new Error('late')
        },
      },
      { onError: 'fail' },
    )
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { extensions: [late] })
    const run = talk.run(agent, 'go')
    await run.followUp('more')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'two' })
    expect(errorsOf(talk.journal.log)).toMatchObject([{ name: 'late', hook: 'onEvent', fatal: false }, { fatal: false }])
  })

  it('A143: a failure at the last event is reported after it', async () => {
    const talk = conversation()
    const late = extension('late', {
      onEvent: ({ type }) => {
        if (type === 'settled') throw new Error('late')
      },
    })
    const { events } = await talk.play(agentOf([{ text: 'ok' }], { extensions: [late] }), 'go')
    expect(events.slice(-2)).toMatchObject([{ type: 'settled' }, { type: 'error', name: 'late', hook: 'onEvent' }])
  })

  it('A143: a rejection after the end of the run is no unhandled rejection', async () => {
    const talk = conversation()
    const rejection = Promise.withResolvers<never>()
    const late = extension('late', untyped({ onEvent: () => rejection.promise }), { onError: 'fail' })
    const { result, events } = await talk.play(agentOf([{ text: 'ok' }], { extensions: [late] }), 'go')
    const before = talk.journal.log.length
    rejection.reject(new Error('late'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(result.status).toBe('completed')
    expect(talk.journal.log).toHaveLength(before)
    expect(errorsOf(events)).toEqual([])
    const next = await talk.play(agentOf([{ text: 'again' }]), 'more')
    expect(errorsOf(next.events)).toEqual([])
  })
})

describe('the end of a turn', () => {
  it('A47: hooks get a copy of the result of the run', async () => {
    const talk = conversation()
    const tries: unknown[] = []
    const attempt = (change: () => unknown): void => void tries.push(expect(change).toThrow(TypeError))
    const greedy: Hooks = {
      onAgentEnd: ({ result }) => {
        attempt(() => ((result as { text: string }).text = 'mine'))
        attempt(() => (result.messages as unknown[]).pop())
        attempt(() => (result.pendingToolCalls as unknown[]).pop())
        attempt(() => Object.assign(result.usage, { inputTokens: 0 }))
      },
    }
    const agent = agentOf([call('there')], { tools: [remote('there')], extensions: [extension('greedy', greedy)] })
    const { result } = await talk.play(agent, 'go')
    expect(errorsOf(talk.journal.log)).toEqual([])
    expect(tries).toHaveLength(4)
    expect(result.messages satisfies AgentResult['messages']).toHaveLength(2)
    expect(result.pendingToolCalls).toHaveLength(1)
  })

  it('A150: a suspended turn counts as ended for onAgentEnd and onSavePoint, but is not settled', async () => {
    const talk = conversation()
    const seen: string[] = []
    const watch = extension('watch', {
      onAgentEnd: ({ status }) => void seen.push(status),
      onSavePoint: () => void seen.push('save-point'),
      onSettled: () => void seen.push('settled'),
    })
    const agent = agentOf([call('there'), { text: 'ok' }], { tools: [remote('there')], extensions: [watch] })
    await talk.play(agent, 'go')
    expect(seen.splice(0)).toEqual(['awaiting-tools', 'save-point'])
    await talk.play(agent, { toolResults: [{ toolCallId: 'x', output: 'done' }] })
    expect(seen).toEqual(['completed', 'save-point', 'settled'])
  })

  it('A109: a hook that hangs after the end of an aborted run has at most its own timeout', async () => {
    const talk = conversation()
    const asked = Promise.withResolvers<void>()
    const slow = extension('slow', { onAgentEnd: () => (asked.resolve(), new Promise(() => undefined)) }, { timeoutMs: 100 })
    const run = talk.run(agentOf([], { extensions: [slow] }), 'go', { abortSignal: AbortSignal.abort() })
    await asked.promise
    await until(() => talk.clock.pendingTimers === 1)
    await talk.clock.advance(100)
    expect((await run.result()).status).toBe('aborted')
  })
})
