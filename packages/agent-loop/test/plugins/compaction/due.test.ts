import { describe, expect, it } from 'vitest'
import type { CompactionPolicy } from '../../../src/contract/compaction.ts'
import {
  Breaker,
  compactionPolicyOf,
  isDueAfterTurn,
  isDueBeforeCall,
  makesRoom,
  mayRunByItself,
  nullCompaction,
} from '../../../src/plugins/compaction/policy.ts'
import type { DueState } from '../../../src/plugins/compaction/policy.ts'
import { testModel } from './messages.ts'

function state(tokens: number, fields: Partial<DueState> = {}, policy: Partial<CompactionPolicy> = { reserveTokens: 1_000 }): DueState {
  return {
    setting: compactionPolicyOf(policy),
    breaker: new Breaker(),
    model: testModel,
    tokens,
    contextWindow: 10_000,
    compaction: undefined,
    ...fields,
  }
}

const compaction = {
  compactionId: 'k',
  summary: '',
  firstKeptMessageId: '',
  tokensBefore: 9_500,
  tokensAfter: 8_500,
  facts: [],
  source: 'default',
  usage: {},
}

describe('when a compaction is due', () => {
  it('A129: is not due at window − reserveTokens and is due at one token more', () => {
    expect(isDueAfterTurn(state(9_000))).toBe(false)
    expect(isDueAfterTurn(state(9_001))).toBe(true)
  })

  it('A129: triggerRatio wins over reserveTokens', () => {
    const policy = { reserveTokens: 1_000, triggerRatio: 0.5 }
    expect(isDueAfterTurn(state(5_000, {}, policy))).toBe(false)
    expect(isDueAfterTurn(state(5_001, {}, policy))).toBe(true)
  })

  it('A129: is never due with an unknown window, and uses half of a window below the reserve', () => {
    expect(isDueAfterTurn(state(1_000_000, { contextWindow: undefined }))).toBe(false)
    expect(isDueBeforeCall(state(1_000_000, { contextWindow: undefined }), 1)).toBe(false)
    expect(isDueAfterTurn(state(5_000, {}, {}))).toBe(false)
    expect(isDueAfterTurn(state(5_001, {}, {}))).toBe(true)
  })

  it('before a call it is due only when the estimate and the reserved output do not fit the window', () => {
    expect(isDueBeforeCall(state(9_500), 500)).toBe(false)
    expect(isDueBeforeCall(state(9_501), 500)).toBe(true)
  })

  it('after any compaction the next one is due only when the estimate has grown by 10 % of the window', () => {
    expect(isDueAfterTurn(state(9_499, { compaction }))).toBe(false)
    expect(isDueAfterTurn(state(9_500, { compaction }))).toBe(true)
    expect(isDueBeforeCall(state(9_499, { compaction }), 5_000)).toBe(false)
    expect(mayRunByItself(state(8_600, { compaction }))).toBe(true)
  })

  it('A138: is not due after maxFailures useless compactions, until one by hand succeeds or the model changes', () => {
    const breaker = new Breaker()
    const due = (): boolean => isDueAfterTurn(state(9_900, { breaker }))
    breaker.addUseless(testModel)
    breaker.addUseless(testModel)
    expect(due()).toBe(true)
    breaker.addUseless(testModel)
    expect(due()).toBe(false)
    expect(isDueBeforeCall(state(9_900, { breaker }), 500)).toBe(false)
    expect(isDueAfterTurn(state(9_900, { breaker, model: { provider: 'other', modelId: 'm' } }))).toBe(true)
    breaker.close()
    expect(due()).toBe(true)
  })

  it('A141: is never due when switched off, or with nullCompaction', () => {
    for (const option of [false, nullCompaction] as const) {
      const off = state(9_900, { setting: compactionPolicyOf(option) })
      expect([isDueAfterTurn(off), isDueBeforeCall(off, 9_000), mayRunByItself(off)]).toEqual([false, false, false])
    }
  })

  it('is never due with automatic: false', () => {
    const manual = state(9_900, {}, { reserveTokens: 1_000, automatic: false })
    expect([isDueAfterTurn(manual), isDueBeforeCall(manual, 9_000), mayRunByItself(manual)]).toEqual([false, false, false])
  })

  it('A126: a call is repeated only when the estimate fell by 10 % and fits', () => {
    const done = { outcome: 'done', tokensBefore: 10_000 } as const
    expect(makesRoom({ ...done, tokensAfter: 9_000 }, 10_000, 1_000)).toBe(true)
    expect(makesRoom({ ...done, tokensAfter: 9_001 }, undefined, 0)).toBe(false)
    expect(makesRoom({ ...done, tokensAfter: 9_000 }, 9_500, 1_000)).toBe(false)
    expect(makesRoom({ outcome: 'failed', tokensBefore: 10_000 }, 10_000, 0)).toBe(false)
  })
})
