import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import type { GuardedResult } from '../../../src/contract/guardrail.ts'
import { loopGuard } from '../../../src/plugins/guardrails/loop-guard.ts'
import type { LoopGuardOptions } from '../../../src/plugins/guardrails/loop-guard.ts'
import { bench, callOf, guardrail, outcome } from './support.ts'

interface Made {
  readonly tool?: string
  readonly input?: JSONValue
  readonly effect?: 'pure' | 'once'
  readonly value?: string
}

/** Creates a turn in which calls are made one after the other. Each returns what the guard did. */
function turn(options?: LoopGuardOptions, others: Parameters<typeof bench>[0] = []) {
  const { runner } = bench([...others, loopGuard(options)])
  let count = 0
  return async (
    status: GuardedResult['status'],
    { tool = 'read', input = { path: 'a' }, effect = 'once', value }: Made = {},
  ): Promise<string> => {
    const call = callOf({ toolCallId: `c${count++}`, toolName: tool, input, effect })
    const before = await runner.beforeCall(call)
    const blocked = before.action === 'block'
    const after = await runner.afterCall(call, blocked ? outcome('denied') : outcome(status, value))
    return [before.action, after.action].map((action, place) => `${action}${codeOf(place === 0 ? before : after)}`).join(' ')
  }
}

const codeOf = ({ code }: { readonly code?: string }) => (code === undefined ? '' : `(${code})`)
const alone = (part: LoopGuardOptions): LoopGuardOptions => ({
  sameFailure: false,
  sameTool: false,
  sameResult: false,
  blocked: false,
  ...part,
})

async function repeat<Value>(times: number, each: (index: number) => Promise<Value>): Promise<Value[]> {
  const values: Value[] = []
  for (let index = 0; index < times; index++) values.push(await each(index))
  return values
}

describe('loop guard', () => {
  it('A155: warns about the same failure from the second on and refuses it after the fifth', async () => {
    const call = turn(alone({ sameFailure: {} }))
    expect(await repeat(6, () => call('error'))).toEqual([
      'allow allow',
      'allow warn',
      'allow warn',
      'allow warn',
      'allow warn',
      'block(same-failure) allow',
    ])
  })

  it('A155: the same input counts as the same whatever the order of its keys, also when it is long', async () => {
    const call = turn(alone({ sameFailure: { warn: 2 } }))
    const long = 'x'.repeat(500)
    expect(await call('error', { input: { a: 1, b: long } })).toBe('allow allow')
    expect(await call('error', { input: { b: long, a: 1 } })).toBe('allow warn')
    expect(await call('error', { input: { b: `${long}x`, a: 1 } })).toBe('allow allow')
    expect(await call('error', { input: { b: long, a: 1 }, tool: 'write' })).toBe('allow allow')
  })

  it('A155: warns about the same tool from the third failure on and halts at the eighth', async () => {
    const call = turn(alone({ sameTool: {} }))
    const seen = await repeat(8, (index) => call('error', { input: index }))
    expect(seen).toEqual(['allow allow', 'allow allow', ...Array<string>(5).fill('allow warn'), 'allow halt(same-tool)'])
  })

  it('A155: a success clears the failures of its tool, and of no other tool', async () => {
    const call = turn(alone({ sameFailure: { warn: 2, block: 2 }, sameTool: { warn: 2, halt: 3 } }))
    await call('error')
    await call('error', { tool: 'write' })
    expect(await call('result', { input: 'other' })).toBe('allow allow')
    expect(await call('error')).toBe('allow allow')
    expect(await call('error', { tool: 'write' })).toBe('allow warn')
    expect(await call('error', { tool: 'write' })).toBe('block(same-failure) allow')
  })

  it('A155: warns about the same result of a pure tool from the second on and refuses it after the fifth', async () => {
    const call = turn(alone({ sameResult: {} }))
    expect(await repeat(6, () => call('result', { effect: 'pure' }))).toEqual([
      'allow allow',
      ...Array<string>(4).fill('allow warn'),
      'block(same-result) allow',
    ])
  })

  it('A155: another output, another input or a tool that is not pure does not count as a repetition', async () => {
    const call = turn(alone({ sameResult: { warn: 2, block: 2 } }))
    expect(await call('result', { effect: 'pure', value: 'a' })).toBe('allow allow')
    expect(await call('result', { effect: 'pure', value: 'b' })).toBe('allow allow')
    expect(await call('result', { effect: 'pure', value: 'a' })).toBe('allow allow')
    expect(await call('result', { effect: 'pure', value: 'a', input: 'other' })).toBe('allow allow')
    expect(await repeat(3, () => call('result'))).toEqual(Array<string>(3).fill('allow allow'))
  })

  it('A155: a success of a tool that is not pure clears earlier reads', async () => {
    const call = turn(alone({ sameResult: { warn: 2, block: 2 } }))
    const read = () => call('result', { effect: 'pure' })
    expect(await repeat(2, read)).toEqual(['allow allow', 'allow warn'])
    await call('error', { tool: 'write' })
    expect(await read()).toBe('block(same-result) allow')
    await call('result', { tool: 'write' })
    expect(await repeat(3, read)).toEqual(['allow allow', 'allow warn', 'block(same-result) allow'])
  })

  it('A155: a result of a call that was not executed clears nothing', async () => {
    const { runner } = bench([loopGuard({ sameResult: { warn: 2 } })])
    const read = callOf({ effect: 'pure' })
    await runner.afterCall(read, outcome('result'))
    await runner.afterCall(callOf({ toolName: 'write' }), { ...outcome('result'), executed: false })
    expect(await runner.afterCall(read, outcome('result'))).toMatchObject({ action: 'warn' })
  })

  it('A155: three refused calls in a row halt, whichever guardrail or hook refused them', async () => {
    const strict = guardrail('strict', {
      beforeCall: ({ toolName }) => (toolName === 'rm' ? { action: 'block', reason: 'no' } : undefined),
    })
    const call = turn(undefined, [strict])
    expect(await repeat(2, (index) => call('result', { tool: 'rm', input: index }))).toEqual(['block allow', 'block allow'])
    expect(await call('result', { tool: 'read' })).toBe('allow allow')
    expect(await repeat(3, (index) => call('result', { tool: 'rm', input: index }))).toEqual([
      'block allow',
      'block allow',
      'block halt(blocked)',
    ])
  })

  it('A155: a call that a person denied does not count as refused by a guardrail', async () => {
    const call = turn(alone({ blocked: { halt: 1 } }))
    expect(await repeat(3, () => call('denied'))).toEqual(Array<string>(3).fill('allow allow'))
  })

  it('A155: denied, cancelled and unknown outcomes do not count as failures', async () => {
    const call = turn(alone({ sameFailure: { warn: 1, block: 1 }, sameTool: { warn: 1, halt: 1 } }))
    for (const status of ['denied', 'cancelled', 'unknown'] as const) expect(await call(status)).toBe('allow allow')
    expect(await call('error')).toBe('allow halt(same-tool)')
  })

  it('A155: with its defaults a failing call is warned, then refused, and then halts the turn', async () => {
    const call = turn()
    expect((await repeat(8, () => call('error'))).map((each) => each.replaceAll(/\(.*?\)/g, ''))).toEqual([
      ...['allow allow', 'allow warn', 'allow warn', 'allow warn', 'allow warn'],
      ...['block allow', 'block allow', 'block halt'],
    ])
  })

  it('A155: a new turn begins with zero counts', async () => {
    const guard = loopGuard({ sameFailure: { warn: 1, block: 1 } })
    const [one, two] = [bench([guard]).runner, bench([guard]).runner]
    await one.afterCall(callOf(), outcome('error'))
    expect(await one.beforeCall(callOf())).toMatchObject({ action: 'block' })
    expect(await two.beforeCall(callOf())).toMatchObject({ action: 'allow' })
  })

  it.each([
    ['loopGuard.options has no option "sameFailures"; did you mean sameFailure?', { sameFailures: {} }],
    ['sameTool has no option "block"; known are warn, halt', { sameTool: { block: 1 } }],
    ['blocked.halt must be a whole number from 1; received 0', { blocked: { halt: 0 } }],
    ['sameResult.block must be a whole number from 1; received null', { sameResult: { block: null } }],
    ['sameResult must be thresholds or false; received true', { sameResult: true }],
  ])('refuses: %s', (message, options) => {
    expect(() => loopGuard(options as LoopGuardOptions)).toThrow(expect.objectContaining({ code: 'invalid-config', message }))
  })
})
