import { describe, expect, it } from 'vitest'
import type { PendingToolCall } from '@bowline/agent-loop/events'
import { ClientError, type ClientTools, type ToolResultInput } from '../src/index.ts'
import { ToolRunner } from '../src/tool-runner.ts'
import { pendingCall } from './support/events.ts'

interface World {
  readonly runner: ToolRunner
  readonly sent: ToolResultInput[]
}

/** Creates a runner. Its server answers every submission with these calls as still missing. */
function runnerOf(tools: ClientTools, missing: readonly string[] = [], refusal?: ClientError): World {
  const sent: ToolResultInput[] = []
  const submit = async (results: readonly ToolResultInput[]) => {
    sent.push(...results)
    if (refusal) throw refusal
    return { accepted: results.map(({ toolCallId }) => toolCallId), repeated: [], missing, runId: 'r1' }
  }
  return { runner: new ToolRunner({ tools: () => tools, submit }), sent }
}

const answers: ClientTools = { look: { execute: () => 'seen', effect: 'idempotent' } }
const [one, two] = [pendingCall('c1', 'look'), pendingCall('c2', 'other')]

describe('the tool runner', () => {
  it('C13: a call that may already have run is not run again', async () => {
    const { runner, sent } = runnerOf(answers)
    const unknown: PendingToolCall = { ...one, unknown: true }
    runner.offer([unknown])
    runner.confirm(unknown)
    await runner.whenIdle()
    expect(sent).toEqual([])
    expect([...runner.open]).toEqual(['c1'])
  })

  it('C11: the answer to a call of a subagent has its path, another one has none', async () => {
    const { runner, sent } = runnerOf(answers)
    runner.offer([
      { ...one, path: ['d1', 'd2'] },
      { ...one, toolCallId: 'c3' },
    ])
    await runner.whenIdle()
    expect(sent).toEqual([
      { toolCallId: 'c1', path: ['d1', 'd2'], output: 'seen' },
      { toolCallId: 'c3', output: 'seen' },
    ])
  })

  it('C12, C16: a call that the receipt no longer lists was answered elsewhere, and a listed one stays open', async () => {
    const settled = runnerOf(answers, [])
    settled.runner.offer([one, two])
    await settled.runner.whenIdle()
    expect([...settled.runner.open]).toEqual([])
    const waiting = runnerOf(answers, ['c2'])
    waiting.runner.offer([one, two])
    await waiting.runner.whenIdle()
    expect([...waiting.runner.open]).toEqual(['c2'])
  })

  it('C13: a call found pending that cannot run twice waits for its confirmation, and runs once', async () => {
    let runs = 0
    const { runner, sent } = runnerOf({ pay: { execute: () => ++runs } })
    const call = pendingCall('c1', 'pay')
    runner.offer([call], true)
    expect([runner.stateOf('c1'), runner.busy]).toEqual(['needs-confirm', false])
    runner.confirm(call)
    expect(runner.stateOf('c1')).toBe('running')
    runner.confirm(call)
    runner.offer([call], true)
    await runner.whenIdle()
    expect([runs, sent, runner.stateOf('c1')]).toEqual([1, [{ toolCallId: 'c1', output: 1 }], 'answered'])
  })

  it.each(['pure', 'idempotent'] as const)('C13: a call found pending of a tool that is %s runs at once', async (effect) => {
    const { runner, sent } = runnerOf({ look: { execute: () => 'seen', effect } })
    runner.offer([one], true)
    await runner.whenIdle()
    expect(sent).toEqual([{ toolCallId: 'c1', output: 'seen' }])
  })

  it('C13: an outcome that could not be sent is sent again unchanged, and the tool does not run again', async () => {
    let runs = 0
    const refused = new ClientError('body-too-large', 'no')
    const { runner, sent } = runnerOf({ look: { execute: () => ++runs } }, [], refused)
    runner.offer([one])
    await runner.whenIdle()
    expect([runner.error, runner.stateOf('c1')]).toEqual([refused, 'needs-confirm'])
    runner.confirm(one)
    await runner.whenIdle()
    expect([runs, sent]).toEqual([
      1,
      [
        { toolCallId: 'c1', output: 1 },
        { toolCallId: 'c1', output: 1 },
      ],
    ])
  })

  it('C13: the error of an outcome that could not be sent is gone once it is sent, or answered elsewhere', async () => {
    const refusals = [new ClientError('network', 'gone'), undefined, new ClientError('network', 'gone')]
    const submit = async () => {
      const refusal = refusals.shift()
      if (refusal) throw refusal
      return { accepted: ['c1'], repeated: [], missing: [], runId: 'r1' }
    }
    const runner = new ToolRunner({ tools: () => answers, submit })
    runner.offer([one])
    await runner.whenIdle()
    expect(runner.error).toMatchObject({ code: 'network' })
    runner.confirm(one)
    await runner.whenIdle()
    expect([runner.error, runner.stateOf('c1')]).toEqual([undefined, 'answered'])
    runner.offer([{ ...one, toolCallId: 'c3' }])
    await runner.whenIdle()
    expect(runner.error).toMatchObject({ code: 'network' })
    runner.offer([])
    expect(runner.error).toBeUndefined()
  })

  it('C16: a call that is no longer pending is aborted, and its outcome is not sent', async () => {
    const signals: AbortSignal[] = []
    const { runner, sent } = runnerOf({
      look: {
        execute: (_input, { abortSignal }) => {
          signals.push(abortSignal)
          return new Promise((resolve) => abortSignal.addEventListener('abort', () => resolve('late')))
        },
      },
    })
    runner.offer([one])
    await Promise.resolve()
    runner.offer([])
    await runner.whenIdle()
    expect([signals[0]?.aborted, sent, runner.stateOf('c1')]).toEqual([true, [], undefined])
  })

  it('C11: reports each change: offered, confirmed, answered', async () => {
    const states: unknown[] = []
    const submit = async () => ({ accepted: ['c1'], repeated: [], missing: [], runId: 'r1' })
    const runner: ToolRunner = new ToolRunner({
      tools: () => ({ pay: { execute: () => 1 } }),
      submit,
      onChange: () => void states.push(runner.stateOf('c1')),
    })
    const call = pendingCall('c1', 'pay')
    runner.offer([call], true)
    expect(states).toEqual(['needs-confirm'])
    runner.confirm(call)
    expect(states).toEqual(['needs-confirm', 'running'])
    await runner.whenIdle()
    await Promise.resolve()
    expect(states).toEqual(['needs-confirm', 'running', 'answered'])
  })

  it('C14: ending a reading while an answer is being sent is no error of the answer', async () => {
    const { runner } = runnerOf(answers, [], new ClientError('reading-aborted', 'left'))
    runner.offer([one])
    await runner.whenIdle()
    expect([runner.error, runner.stateOf('c1')]).toEqual([undefined, 'running'])
  })

  it.each(['tool-result-conflict', 'unknown-tool-call'])('C13: an answer that is refused as %s was given elsewhere', async (code) => {
    const { runner } = runnerOf(answers, [], new ClientError(code, 'no'))
    runner.offer([one])
    await runner.whenIdle()
    expect([runner.error, runner.stateOf('c1'), [...runner.open]]).toEqual([undefined, 'answered', []])
  })

  it('C14: closing aborts running tools, and leaves nothing open', async () => {
    const { runner, sent } = runnerOf({ look: { execute: () => new Promise(() => undefined) } })
    runner.offer([one, { ...one, toolCallId: 'c3' }])
    expect(runner.busy).toBe(true)
    runner.close()
    await runner.whenIdle()
    expect([runner.busy, sent, runner.stateOf('c1'), [...runner.open]]).toEqual([false, [], undefined, []])
  })

  it('C13: a call that is pending again, because a decision says that it runs again, runs again', async () => {
    let runs = 0
    const { runner, sent } = runnerOf({ look: { execute: () => ++runs } })
    for (const time of [1, 2]) {
      runner.offer([one])
      await runner.whenIdle()
      expect([runs, sent.at(-1), runner.stateOf('c1')]).toEqual([time, { toolCallId: 'c1', output: time }, 'answered'])
      runner.offer([one])
      expect([runner.busy, [...runner.open]]).toEqual([false, []])
      runner.offer([])
    }
  })

  it.each([true, false])(
    'C13, C16: a call settled and pending again at once is the new one; its answer sent before: %s',
    async (isSending) => {
      const gates = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()]
      const sending = Promise.withResolvers<void>()
      const answer = Promise.withResolvers<void>()
      const signals: AbortSignal[] = []
      const sent: unknown[] = []
      const tools: ClientTools = { look: { execute: (_input, { abortSignal }) => gates[signals.push(abortSignal) - 1]?.promise } }
      const submit = async (results: readonly ToolResultInput[]) => {
        sent.push(...results)
        sending.resolve()
        if (sent.length === 1 && isSending) await answer.promise
        return { accepted: ['c1'], repeated: [], missing: ['c1'], runId: 'r1' }
      }
      const runner = new ToolRunner({ tools: () => tools, submit })
      runner.offer([one])
      if (isSending) {
        gates[0]?.resolve('first')
        await sending.promise
      }
      runner.offer([])
      runner.offer([one])
      answer.resolve()
      await new Promise((resolve) => setImmediate(resolve))
      expect([runner.busy, runner.stateOf('c1'), [...runner.open], signals.map(({ aborted }) => aborted)]).toEqual([
        true,
        'running',
        ['c1'],
        [true, false],
      ])
      gates[1]?.resolve('second')
      await runner.whenIdle()
      expect([sent.at(-1), runner.busy, runner.stateOf('c1')]).toEqual([{ toolCallId: 'c1', output: 'second' }, false, 'answered'])
    },
  )

  it('C11: while a call runs, another offer of it starts nothing', async () => {
    let runs = 0
    const gate = Promise.withResolvers<void>()
    const { runner, sent } = runnerOf({ look: { execute: async () => (await gate.promise, ++runs) } }, ['c2'])
    runner.offer([one])
    for (const found of [false, true]) runner.offer([one, two], found)
    expect([runner.stateOf('c1'), runner.stateOf('c2'), [...runner.open]]).toEqual(['running', undefined, ['c1', 'c2']])
    gate.resolve()
    await runner.whenIdle()
    expect([runs, sent.length, [...runner.open]]).toEqual([1, 1, ['c2']])
  })

  it('C12: a property name that every object has is no tool', async () => {
    const { runner, sent } = runnerOf(answers)
    runner.offer([pendingCall('c1', 'toString'), pendingCall('c2', '__proto__')])
    runner.confirm(pendingCall('c1', 'toString'))
    await runner.whenIdle()
    expect([sent, [...runner.open]]).toEqual([[], ['c1', 'c2']])
  })

  it('C11: it is idle only when all of several calls have ended', async () => {
    const gates = { c1: Promise.withResolvers<string>(), c3: Promise.withResolvers<string>() }
    const { runner, sent } = runnerOf({ look: { execute: (_input, { toolCallId }) => gates[toolCallId as 'c1' | 'c3'].promise } })
    runner.offer([one, { ...one, toolCallId: 'c3' }])
    let isIdle = false
    const idle = runner.whenIdle().then(() => void (isIdle = true))
    gates.c3.resolve('three')
    await new Promise((resolve) => setImmediate(resolve))
    expect([isIdle, runner.busy, sent.length]).toEqual([false, true, 1])
    gates.c1.resolve('one')
    await idle
    expect([runner.busy, sent.length]).toEqual([false, 2])
  })

  it('C13: without a network the outcome is kept for later, and the error says why', async () => {
    const { runner } = runnerOf(answers, [], new TypeError('gone') as never)
    runner.offer([one])
    await runner.whenIdle()
    expect([runner.error, runner.stateOf('c1'), [...runner.open]]).toMatchObject([
      { code: 'network', retryable: true },
      'needs-confirm',
      ['c1'],
    ])
  })

  it('C16: a call that is settled while its answer is being sent stays settled', async () => {
    const gate = Promise.withResolvers<void>()
    const sending = Promise.withResolvers<void>()
    const submit = async () => {
      sending.resolve()
      await gate.promise
      return { accepted: ['c1'], repeated: [], missing: [], runId: 'r1' }
    }
    const runner = new ToolRunner({ tools: () => answers, submit })
    runner.offer([one])
    await sending.promise
    runner.settle('c1')
    gate.resolve()
    await runner.whenIdle()
    expect([runner.stateOf('c1'), runner.error]).toEqual([undefined, undefined])
  })
})
