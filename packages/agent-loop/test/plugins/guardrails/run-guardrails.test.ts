import { describe, expect, it } from 'vitest'
import type { GuardedResult, Guardrail } from '../../../src/contract/guardrail.ts'
import { bench, callOf, guardrail, outcome } from './support.ts'

const says = (name: string, action: 'allow' | 'warn' | 'block' | 'halt', reason?: string): Guardrail =>
  guardrail(name, { beforeCall: () => ({ action, ...(reason !== undefined && { reason }) }) })
const never = (): Promise<never> => new Promise(() => undefined)

describe('decisions before a call', () => {
  it('A153: the first block wins, and all warnings add up', async () => {
    const { runner } = bench([
      says('a', 'warn', 'careful'),
      says('b', 'block', 'not there'),
      says('c', 'block', 'nor here'),
      says('d', 'warn', 'really'),
    ])
    expect(await runner.beforeCall(callOf())).toEqual({
      action: 'block',
      guardrail: 'b',
      reason: 'not there',
      warnings: ['careful', 'really'],
    })
  })

  it('A154: the first halt wins over an earlier block, and later guardrails are not asked', async () => {
    const { runner } = bench([
      says('a', 'block', 'no'),
      guardrail('b', { beforeCall: () => Promise.resolve({ action: 'halt', code: 'stop-all' }) }),
      guardrail('c', { beforeCall: () => expect.fail('c is asked') }),
    ])
    expect(await runner.beforeCall(callOf())).toMatchObject({ action: 'halt', guardrail: 'b', reason: 'stop-all', code: 'stop-all' })
  })

  it('A153: undefined and allow let the call run', async () => {
    const { runner } = bench([guardrail('a', { beforeCall: () => undefined }), says('b', 'allow'), guardrail('c')])
    expect(await runner.beforeCall(callOf())).toEqual({ action: 'allow', warnings: [] })
  })

  it('A153: a decision without a reason has a default reason for the model', async () => {
    expect(await bench([says('a', 'block')]).runner.beforeCall(callOf())).toMatchObject({ reason: 'the guardrail a gave no reason' })
  })
})

describe('decisions after a call', () => {
  it('A153: each verdict has the warnings of its own phase', async () => {
    const { runner } = bench([
      guardrail('a', { beforeCall: () => ({ action: 'warn', reason: 'before' }), afterCall: () => ({ action: 'warn', reason: 'after' }) }),
    ])
    expect(await runner.beforeCall(callOf())).toEqual({ action: 'warn', warnings: ['before'] })
    expect(await runner.afterCall(callOf(), outcome('result'))).toEqual({ action: 'warn', warnings: ['after'] })
  })

  it('A154: halts after a call', async () => {
    const { runner } = bench([guardrail('a', { afterCall: () => ({ action: 'halt', reason: 'enough' }) })])
    expect(await runner.afterCall(callOf(), outcome('error'))).toEqual({ action: 'halt', guardrail: 'a', reason: 'enough', warnings: [] })
  })

  it('A154: later guardrails are not asked after a halt', async () => {
    const { runner } = bench([
      guardrail('a', { afterCall: () => ({ action: 'halt' }) }),
      guardrail('b', { afterCall: () => expect.fail('b is asked') }),
    ])
    expect(await runner.afterCall(callOf(), outcome('error'))).toMatchObject({ action: 'halt', guardrail: 'a' })
  })

  it('A109: an abort ends the wait for a guardrail, and the next ones are still asked', async () => {
    const { runner, stop, failures } = bench([
      guardrail('a', { afterCall: never }),
      guardrail('b', { afterCall: () => ({ action: 'warn', reason: 'seen' }) }),
    ])
    const verdict = runner.afterCall(callOf(), outcome('result'))
    stop.abort()
    expect(await verdict).toEqual({ action: 'warn', warnings: ['seen'] })
    expect(failures).toEqual([])
  })

  it('A155: a call that a guardrail refused is marked so, any other is not', async () => {
    const seen: GuardedResult[] = []
    const { runner } = bench([
      guardrail('a', {
        beforeCall: ({ toolCallId }) => (toolCallId === 'c1' ? { action: 'block' } : undefined),
        afterCall: (_call, result) => void seen.push(result),
      }),
    ])
    await runner.beforeCall(callOf())
    await runner.afterCall(callOf(), outcome('denied'))
    await runner.beforeCall(callOf({ toolCallId: 'c2' }))
    await runner.afterCall(callOf({ toolCallId: 'c2' }), outcome('denied'))
    expect(seen).toEqual([{ ...outcome('denied'), refusedBy: 'a' }, outcome('denied')])
  })

  it('A13: call and result are frozen', async () => {
    const frozen: boolean[] = []
    const { runner } = bench([
      guardrail('a', { afterCall: (call, result) => void frozen.push(Object.isFrozen(call.input), Object.isFrozen(result.output)) }),
    ])
    await runner.afterCall(callOf(), outcome('result'))
    expect(frozen).toEqual([true, true])
  })
})

describe('guardrails that fail', () => {
  const broken = {
    beforeCall: () => {
      throw new Error('bad')
    },
    afterCall: () => {
      throw new Error('worse')
    },
  }

  it('A151: a throw before a call blocks it, with a report', async () => {
    const { runner, failures } = bench([guardrail('a', broken)])
    expect(await runner.beforeCall(callOf())).toMatchObject({
      action: 'block',
      reason: 'the guardrail a failed: bad',
      code: 'guardrail-failed',
    })
    expect(await runner.afterCall(callOf(), outcome('result'))).toMatchObject({ action: 'allow' })
    expect(failures).toEqual([
      { guardrail: 'a', hook: 'beforeCall', message: 'bad' },
      { guardrail: 'a', hook: 'afterCall', message: 'worse' },
    ])
  })

  it('A151: a throw lets the call run with onError allow', async () => {
    const { runner, failures } = bench([guardrail('a', { ...broken, onError: 'allow' })])
    expect(await runner.beforeCall(callOf())).toEqual({ action: 'allow', warnings: [] })
    expect(failures).toHaveLength(1)
  })

  it('A151: the runtime stops waiting for a guardrail that hangs after 5 s', async () => {
    const { runner, failures, clock } = bench([guardrail('a', { beforeCall: never })])
    const verdict = runner.beforeCall(callOf())
    await clock.advance(4_999)
    expect(failures).toEqual([])
    await clock.advance(1)
    expect(await verdict).toMatchObject({ action: 'block' })
    expect(failures).toMatchObject([{ message: 'no answer within 5000 ms' }])
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([['stop'], [{ action: 'deny' }], [{ action: 'block', reason: 1 }], [{ action: 'block', why: 'x' }]])(
    'A151: %o is not a decision',
    async (returned) => {
      const { runner, failures } = bench([guardrail('a', { beforeCall: () => returned as never })])
      expect(await runner.beforeCall(callOf())).toMatchObject({ action: 'block' })
      expect(failures).toHaveLength(1)
    },
  )

  it('A151: a block after a call is refused', async () => {
    const { runner, failures } = bench([guardrail('a', { afterCall: () => ({ action: 'block' }) as never })])
    expect(await runner.afterCall(callOf(), outcome('result'))).toEqual({ action: 'allow', warnings: [] })
    expect(failures).toMatchObject([{ hook: 'afterCall' }])
  })

  it('A151: onTurnStart and onTurnEnd that fail are reported, and the next guardrails are notified', async () => {
    const seen: string[] = []
    const { runner, failures } = bench([
      guardrail('a', {
        onTurnStart: () => Promise.reject(new Error('bad')),
        onTurnEnd: () => {
          throw new Error('bad')
        },
      }),
      guardrail('b', { onTurnStart: () => void seen.push('start'), onTurnEnd: ({ status }) => void seen.push(status) }),
    ])
    await runner.onTurnStart()
    await runner.onTurnEnd('halted')
    expect(seen).toEqual(['start', 'halted'])
    expect(failures.map(({ hook }) => hook)).toEqual(['onTurnStart', 'onTurnEnd'])
  })

  it('A109: an abort ends the wait; the call is not allowed, and no failure is reported', async () => {
    const { runner, failures, stop, clock } = bench([guardrail('a', { beforeCall: never })])
    const verdict = runner.beforeCall(callOf())
    stop.abort()
    expect(await verdict).toEqual({ action: 'stopped', warnings: [] })
    expect(failures).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('state of guardrails', () => {
  it('A32: each guardrail has its own state, and a new one in each turn', async () => {
    const counting = (name: string) =>
      guardrail(name, {
        onTurnStart: ({ state }) => void Object.assign(state, { count: 0 }),
        beforeCall: (_call, { state, turn, step }) => {
          state['count'] = (state['count'] as number) + 1
          return { action: 'warn', reason: `${name} ${state['count'] as number} in ${turn}.${step}` }
        },
      })
    const guardrails = [counting('a'), counting('b')]
    const [one, two] = [bench(guardrails).runner, bench(guardrails).runner]
    await Promise.all([one.onTurnStart(), two.onTurnStart()])
    await one.beforeCall(callOf())
    const [first, second] = await Promise.all([one.beforeCall(callOf()), two.beforeCall(callOf())])
    expect(first.warnings).toEqual(['a 2 in 1.2', 'b 2 in 1.2'])
    expect(second.warnings).toEqual(['a 1 in 1.2', 'b 1 in 1.2'])
  })
})
