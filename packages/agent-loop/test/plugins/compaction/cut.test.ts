import { describe, expect, it } from 'vitest'
import { cutAt, findCut, isLegalCut } from '../../../src/plugins/compaction/cut.ts'
import type { KeptSize } from '../../../src/plugins/compaction/cut.ts'
import { answer, call, result, step, user } from './messages.ts'

/** Counts each message as ten tokens. */
const ten = (): number => 10

function keep(keepTokens: number, mostTokens = Infinity): KeptSize {
  return { keepTokens, mostTokens }
}

describe('where to cut', () => {
  it('takes the nearest user or assistant message at or before the point where enough is kept', () => {
    const messages = [user('u1'), answer('a1'), user('u2'), answer('a2'), user('u3'), answer('a3')]
    expect(findCut(messages, keep(20), ten)).toEqual({ index: 4 })
    expect(findCut(messages, keep(21), ten)).toEqual({ index: 3, turnStart: 2 })
  })

  it('A131: a cut between results moves back to their answer', () => {
    const calls = answer('a1', [call('c1'), call('c2')], { stopReason: 'tool-calls' })
    const messages = [user('u1'), answer('a0'), user('u2'), calls, result('c1'), result('c2'), answer('a2')]
    expect(findCut(messages, keep(20), ten)).toEqual({ index: 3, turnStart: 2 })
  })

  it('A131: an answer that waits for results or an approval is kept whole', () => {
    const messages = [user('u1'), answer('a1'), user('u2'), answer('a2', [call('c1'), call('c2')]), result('c1')]
    expect(findCut(messages, keep(1), ten)).toEqual({ index: 3, turnStart: 2 })
    expect(isLegalCut(messages, 5)).toBe(false)
    expect(isLegalCut([...messages, result('c2')], 6)).toBe(true)
  })

  it('A131: a cut does not separate a provider tool that ends in the next answer from its call', () => {
    const provider = { type: 'tool-call', toolCallId: 'p1', toolName: 'search', input: {}, providerExecuted: true } as const
    const ended = { type: 'tool-result', toolCallId: 'p1', toolName: 'search', result: 'found' } as const
    const messages = [user('u1'), answer('a0'), user('u2'), answer('a1', [provider]), answer('a2', [ended])]
    expect(findCut(messages, keep(10), ten)).toEqual({ index: 3, turnStart: 2 })
    const paused = [user('u1'), answer('a0'), user('u2'), answer('a1', 'so far', { paused: true }), answer('a2')]
    expect(findCut(paused, keep(10), ten)).toEqual({ index: 3, turnStart: 2 })
    expect(isLegalCut([user('u1'), answer('a1', 'so far', { paused: true })], 2)).toBe(false)
  })

  it('splits a turn that is larger than the kept part at a step', () => {
    const messages = [user('u1'), ...step('a1'), ...step('a2'), ...step('a3')]
    expect(findCut(messages, keep(30), ten)).toEqual({ index: 3, turnStart: 0 })
  })

  it('a step that is too large to keep is summarised with older ones, unless it is the last', () => {
    const messages = [user('u1'), ...step('a1'), answer('a2')]
    const tokensOf = ({ role }: { readonly role: string }): number => (role === 'tool-result' ? 1_000 : 10)
    expect(findCut(messages, keep(20, 500), tokensOf)).toEqual({ index: 3, turnStart: 0 })
    expect(findCut(messages, keep(20, 2_000), tokensOf)).toEqual({ index: 1, turnStart: 0 })
    expect(findCut(messages.slice(0, 3), keep(20, 500), tokensOf)).toEqual({ index: 1, turnStart: 0 })
  })

  it('A135: returns none if nothing is older than the kept part', () => {
    expect(findCut([], keep(10), ten)).toBeUndefined()
    expect(findCut([user('u1')], keep(0), ten)).toBeUndefined()
    expect(findCut([user('u1'), answer('a1')], keep(100), ten)).toBeUndefined()
    expect(findCut([user('u1'), answer('a1')], keep(0), ten)).toEqual({ index: 1, turnStart: 0 })
  })

  it('a turn whose beginning was already summarised begins at the first message', () => {
    expect(cutAt([...step('a1'), answer('a2')], 2)).toEqual({ index: 2, turnStart: 0 })
  })
})
