import { describe, expect, it } from 'vitest'
import { readSummary, summaryRequest } from '../../../src/plugins/compaction/summary.ts'
import type { SummaryOrder } from '../../../src/plugins/compaction/summary.ts'
import { answer, call, long, result, step, user } from './messages.ts'

function textFor(order: Partial<SummaryOrder>): string {
  return summaryRequest({ messages: [], focus: [], maxCharacters: 100_000, ...order })?.messages[0].content ?? ''
}

describe('the request for a summary', () => {
  it('tells the model to summarise and not to continue, and names the headings', () => {
    const { instructions } = summaryRequest({ messages: [user('u1')], focus: [], maxCharacters: 100_000 }) ?? {}
    expect(instructions).toContain('do not continue')
    expect(instructions).toContain('Goal · Rules from the user · Done · In progress · Blocked · Decisions and reasons · Next · Exact facts')
  })

  it('contains the conversation as plain text, in order', () => {
    const text = textFor({ messages: [user('u1', 'please'), ...step('a1', { path: 'a' }, 'content of a'), answer('a2', 'it says a')] })
    const places = ['[user]\nplease', '[call of read] {"path":"a"}', '[result of read] content of a', '[assistant]\nit says a'].map(
      (part) => text.indexOf(part),
    )
    expect(places).not.toContain(-1)
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })

  it('cuts tool outputs at 2,000 characters', () => {
    const text = textFor({ messages: [answer('a1', [call('c1')]), result('c1', `${long(2_000)}SECRET`)] })
    expect(text).toContain(`${long(2_000)} [… 6 characters left out]`)
    expect(text).not.toContain('SECRET')
  })

  it('names errors, denials and files, and leaves out reasoning', () => {
    const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } } as const
    const messages = [
      { role: 'user', id: 'u1', content: [{ type: 'text', text: 'look' }, image] } as const,
      answer('a1', [{ type: 'reasoning', text: 'secret thought' }, call('c1'), call('c2')]),
      { ...result('c1'), output: { type: 'error-text', value: 'broken' } } as const,
      { ...result('c2'), output: { type: 'execution-denied', reason: 'no' } } as const,
    ]
    const text = textFor({ messages })
    expect(text).toContain('look\n[file: image/png]')
    expect(text).toContain('error: broken')
    expect(text).toContain('denied: no')
    expect(text).not.toContain('secret thought')
    expect(text).not.toContain('AAAA')
  })

  it('A136: includes the previous summary and the focus', () => {
    const text = textFor({ messages: [user('u1')], previous: 'what was before', focus: ['the tests'] })
    expect(text).toContain('<previous-summary>\nwhat was before\n</previous-summary>')
    expect(text).toContain('the tests')
  })

  it('shows the first part of a split turn separately, and asks for a paragraph of its own', () => {
    const text = textFor({ messages: [user('u1', 'old'), answer('a1'), user('u2', 'new'), ...step('a2')], turnStart: 2 })
    const turn = text.slice(text.indexOf('<turn-under-way>'), text.indexOf('</turn-under-way>'))
    expect(turn).toContain('new')
    expect(turn).not.toContain('old')
    expect(text).toContain('a paragraph of its own')
    expect(textFor({ messages: [user('u1')] })).not.toContain('turn-under-way')
  })

  it.each([2_500, 3_000, 5_000, 20_000])('A133: fits %i characters, the oldest material is cut first', (maxCharacters) => {
    const messages = [user('u1', `OLDEST ${long(10_000)}`), answer('a1', long(10_000)), user('u2', `${long(100)} NEWEST`)]
    for (const order of [{ messages }, { messages, turnStart: 2, previous: long(5_000, 'p'), focus: ['all'] }]) {
      const request = summaryRequest({ focus: [], maxCharacters, ...order })
      const text = request?.messages[0].content ?? ''
      expect((request?.instructions.length ?? 0) + text.length).toBeLessThanOrEqual(maxCharacters)
      expect(text).toContain('NEWEST')
      expect(text.includes('OLDEST')).toBe(false)
      expect(text).toContain('[earlier messages left out]')
    }
  })

  it('A133: there is no summary request if next to nothing fits', () => {
    expect(summaryRequest({ messages: [user('u1')], focus: [], maxCharacters: 1_000 })).toBeUndefined()
  })

  it('A133: an answer that was cut, stopped, empty or failed contains no summary', () => {
    expect(readSummary(answer('a1', ' it ', { stopReason: 'stop' }))).toEqual({ summary: 'it' })
    expect(readSummary(answer('a1', ' ', { stopReason: 'stop' }))).toHaveProperty('failure')
    for (const stopReason of ['length', 'tool-calls', 'aborted', 'error'] as const) {
      expect(readSummary(answer('a1', 'it', { stopReason }))).toHaveProperty('failure')
    }
  })
})
