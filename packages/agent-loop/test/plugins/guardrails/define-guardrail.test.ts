import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../../src/agent/define-extension.ts'
import type { Guardrail } from '../../../src/contract/guardrail.ts'
import { defineGuardrail } from '../../../src/plugins/guardrails/define-guardrail.ts'
import { addWarnings, mergeGuardrails } from '../../../src/plugins/guardrails/guardrails.ts'
import { loopGuard } from '../../../src/plugins/guardrails/loop-guard.ts'
import { bench, callOf, guardrail } from './support.ts'

describe('defineGuardrail', () => {
  it.each([
    ['defineGuardrail.options must be a guardrail; received a text of 6 characters', 'strict'],
    [
      'defineGuardrail.options has no option "before"; known are name, description, onError, onTurnStart, onTurnEnd, beforeCall, afterCall',
      { name: 'x', before: () => undefined },
    ],
    ['defineGuardrail.options.name must be a text that is not blank; received an empty text', { name: '' }],
    ['the guardrail x: description must be a text; received 1', { name: 'x', description: 1 }],
    ['the guardrail x: onError must be one of block, allow; received "fail"', { name: 'x', onError: 'fail' }],
    ['the guardrail x: afterCall must be a function; received a text of 4 characters', { name: 'x', afterCall: 'warn' }],
  ])('refuses: %s', (message, options) => {
    expect(() => defineGuardrail(options as Guardrail)).toThrow(expect.objectContaining({ code: 'invalid-config', message }))
  })

  it('returns a frozen guardrail whose handlers may be methods', async () => {
    class Limit implements Guardrail {
      readonly name = 'limit'
      readonly most = 3
      beforeCall(): { action: 'block'; reason: string } {
        return { action: 'block', reason: `at most ${this.most}` }
      }
    }
    const made = defineGuardrail(new Limit())
    expect(Object.isFrozen(made)).toBe(true)
    expect(defineGuardrail(made)).toBe(made)
    expect(await bench([made]).runner.beforeCall(callOf())).toMatchObject({ reason: 'at most 3' })
  })
})

describe('mergeGuardrails', () => {
  const names = (guardrails: readonly Guardrail[]) => guardrails.map(({ name }) => name)

  it('A156: of guardrails with one name the first is used: own, built-in, files, extensions', () => {
    const own = guardrail('same')
    const extension = defineExtension({ name: 'x', hooks: {}, guardrails: [guardrail('file'), guardrail('late')] })
    const { guardrails, diagnostics } = mergeGuardrails([own], [guardrail('same'), guardrail('file'), guardrail('loop-guard')], [extension])
    expect(names(guardrails)).toEqual(['same', 'loop-guard', 'file', 'late'])
    expect(guardrails[0]).toBe(own)
    expect(diagnostics).toEqual([
      { kind: 'guardrail', name: 'same', message: 'the one of a file is not used: the agent has one with the same name' },
      { kind: 'guardrail', name: 'loop-guard', message: 'the one of a file is not used: this package has one with the same name' },
      { kind: 'guardrail', name: 'file', message: 'the one of the extension x is not used: a file has one with the same name' },
    ])
  })

  it('A156: an own loop guard replaces the built-in one', () => {
    const own = loopGuard({ blocked: false })
    const { guardrails, diagnostics } = mergeGuardrails([own], [], [])
    expect(guardrails).toEqual([own])
    expect(diagnostics).toEqual([])
  })
})

describe('addWarnings', () => {
  it.each([
    [
      { type: 'text', value: 'out' },
      { type: 'text', value: 'out\n\nWarning: one\nWarning: two' },
    ],
    [
      { type: 'error-text', value: '' },
      { type: 'error-text', value: 'Warning: one\nWarning: two' },
    ],
    [
      { type: 'json', value: { a: 1 } },
      { type: 'text', value: '{"a":1}\n\nWarning: one\nWarning: two' },
    ],
    [
      { type: 'error-json', value: [1] },
      { type: 'error-text', value: '[1]\n\nWarning: one\nWarning: two' },
    ],
    [
      { type: 'content', value: [] },
      { type: 'content', value: [{ type: 'text', text: 'Warning: one\nWarning: two' }] },
    ],
    [{ type: 'execution-denied' }, { type: 'execution-denied', reason: 'Warning: one\nWarning: two' }],
  ] as const)('A153: appends them after %o', (output, expected) => {
    expect(addWarnings(output, ['one', 'two'])).toEqual(expected)
    expect(addWarnings(output, [])).toBe(output)
  })
})
