import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../src/events/agent-event.ts'
import { askCall, askContext, askResult } from '../../../src/plugins/extensions/ask-hooks.ts'
import { bench, callOf, extension, never, resultOf, untyped } from './support.ts'

const valid = (value: unknown) => Promise.resolve({ ok: true as const, value: value as never })
const messages = [{ role: 'user' as const, id: 'm1', content: 'hi' }]

describe('hooks of a run that is stopped', () => {
  it('A109: an abort ends the wait for a hook, without a report', async () => {
    const { hooks, failures, stop, clock } = bench([extension('a', { transformContext: never })])
    const waiting = askContext(hooks, messages)
    stop.abort()
    expect(await waiting).toEqual(messages)
    expect(failures).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  it('A109: a call whose hook was interrupted is not allowed', async () => {
    const { hooks, stop } = bench([extension('a', { onToolCall: never })])
    const waiting = askCall(hooks, callOf(), valid)
    stop.abort()
    expect(await waiting).toEqual({ action: 'stopped' })
  })

  it('A108: an abort leaves onToolResult the remaining time of the run', async () => {
    const redacted = Promise.withResolvers<{ output: string }>()
    const { hooks, stop, clock } = bench([extension('redact', { onToolResult: () => redacted.promise })], { stopDeadline: () => 3_000 })
    const waiting = askResult(hooks, callOf(), resultOf('secret'))
    stop.abort()
    await clock.advance(1_999)
    redacted.resolve({ output: '[redacted]' })
    expect(await waiting).toMatchObject({ output: { type: 'text', value: '[redacted]' } })
    expect(clock.pendingTimers).toBe(0)
  })

  it('A107: an abort leaves it no more than that', async () => {
    const { hooks, stop, clock, failures } = bench([extension('slow', { onToolResult: never })], { stopDeadline: () => 3_000 })
    const given = resultOf('own')
    const waiting = askResult(hooks, callOf(), given)
    stop.abort()
    await clock.advance(2_000)
    expect(await waiting).toBe(given)
    expect(failures).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  it('A107: after the abort hooks still run, until the run must have ended', async () => {
    const { hooks, failures, stop, clock } = bench(
      [extension('slow', { onToolResult: never }), extension('redact', { onToolResult: () => Promise.resolve({ output: '[redacted]' }) })],
      { stopDeadline: () => 3_000 },
    )
    stop.abort()
    const waiting = askResult(hooks, callOf(), resultOf('secret'))
    await clock.advance(2_000)
    expect(await waiting).toMatchObject({ output: { type: 'text', value: '[redacted]' } })
    expect(failures).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  it('A109: the runtime does not wait for a hook that stops the run itself', async () => {
    const late = Promise.withResolvers<void>()
    const made = bench([extension('a', { onStepStart: () => (made.stop.abort(), late.promise) })])
    await made.hooks.tell('onStepStart', { step: 1 })
    late.reject(new Error('late'))
    await Promise.resolve()
    expect(made.failures).toEqual([])
    expect(made.clock.pendingTimers).toBe(0)
  })

  it('A112: after the abort a hook that answers leaves no timer', async () => {
    const { hooks, stop, clock } = bench([extension('a', { onStepStart: () => Promise.resolve() })])
    stop.abort()
    await hooks.tell('onStepStart', { step: 1 })
    expect(clock.pendingTimers).toBe(0)
  })

  it('A143: after the abort a hook that hangs past its own timeout has failed', async () => {
    const { hooks, stop, clock, failures } = bench([extension('a', { onStepStart: never }, { timeoutMs: 100 })])
    stop.abort()
    const told = hooks.tell('onStepStart', { step: 1 })
    await clock.advance(100)
    await told
    expect(failures).toMatchObject([{ message: 'no answer within 100 ms' }])
  })

  it('A112: no listener stays on the signal of the run', async () => {
    const { hooks, stop } = bench([extension('a', { onStepStart: () => Promise.resolve() })])
    const open = new Set<unknown>()
    const add = stop.signal.addEventListener.bind(stop.signal)
    const remove = stop.signal.removeEventListener.bind(stop.signal)
    Object.assign(stop.signal, {
      addEventListener: (type: string, listener: () => void) => (open.add(listener), add(type, listener)),
      removeEventListener: (type: string, listener: () => void) => (open.delete(listener), remove(type, listener)),
    })
    const told = hooks.tell('onStepStart', { step: 1 })
    expect(open.size).toBe(1)
    await told
    expect(open.size).toBe(0)
  })
})

describe('onEvent', () => {
  const durable = { type: 'settled', at: 1, runId: 'r', turn: 1, seq: 1 } as AgentEvent
  const delta = { type: 'tool-execution-delta', at: 1, runId: 'r', turn: 1, toolCallId: 'c', delta: 'x' } as AgentEvent

  it('gets durable events, and deltas only if it asks for them', () => {
    const seen: string[] = []
    const watching = (name: string, deltas: boolean) =>
      extension(name, { onEvent: ({ type }) => void seen.push(`${name} ${type}`) }, { deltas })
    const { hooks } = bench([watching('a', false), watching('b', true)])
    hooks.show(durable)
    hooks.show(delta)
    expect(seen).toEqual(['a settled', 'b settled', 'b tool-execution-delta'])
  })

  it('A143: a hook that throws is isolated and reported once, so that its report cannot make it fail again and again', async () => {
    const seen: string[] = []
    const { hooks, failures } = bench([
      extension('broken', {
        onEvent: () => {
          throw new Error('bad')
        },
      }),
      extension('rejecting', untyped({ onEvent: () => Promise.reject(new Error('worse')) })),
      extension('c', { onEvent: ({ type }) => void seen.push(type) }),
    ])
    hooks.show(durable)
    hooks.show(durable)
    await Promise.resolve()
    expect(failures).toMatchObject([
      { extension: 'broken', hook: 'onEvent', message: 'bad' },
      { extension: 'rejecting', hook: 'onEvent', message: 'worse' },
    ])
    expect(seen).toEqual(['settled', 'settled'])
  })
})
