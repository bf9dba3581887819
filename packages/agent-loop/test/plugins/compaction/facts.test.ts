import { describe, expect, it } from 'vitest'
import { findFacts, mergeFacts } from '../../../src/plugins/compaction/facts.ts'
import { answer, call, result, step, user } from './messages.ts'

const unknown = (): undefined => undefined

describe('facts', () => {
  it('name the tools that ran and the files they received', () => {
    const messages = [
      user('u1'),
      ...step('a1', { path: 'a.ts' }, 'text', 'read_file'),
      ...step('a2', { file_path: 'b.ts' }, 'ok', 'editFile'),
    ]
    expect(findFacts(messages, unknown)).toEqual([
      { kind: 'tool', value: 'read_file' },
      { kind: 'file-read', value: 'a.ts' },
      { kind: 'tool', value: 'editFile' },
      { kind: 'file-modified', value: 'b.ts' },
    ])
  })

  it('the effect decides what a name does not tell, and in doubt a file was modified', () => {
    const messages = step('a1', { paths: ['a.ts', 'b.ts'] }, 'ok', 'lint')
    const kinds = (effect: 'pure' | 'once' | undefined): readonly string[] => findFacts(messages, () => effect).map(({ kind }) => kind)
    expect(kinds('pure')).toEqual(['tool', 'file-read', 'file-read'])
    expect(kinds('once')).toEqual(['tool', 'file-modified', 'file-modified'])
    expect(kinds(undefined)).toEqual(['tool', 'file-modified', 'file-modified'])
  })

  it('a call that did not run adds no fact, a call that may have happened does', () => {
    const input = { path: 'a.ts' }
    const calls = answer('a1', [call('c1', 'write', input), call('c2', 'write', input)])
    expect(findFacts([calls, result('c1', '', 'write', 'denied'), result('c2', '', 'write', 'error')], unknown)).toEqual([])
    expect(findFacts([calls, result('c1', '', 'write', 'unknown')], unknown)).toHaveLength(2)
  })

  it('include those of the caller', () => {
    const own = (message: { readonly role: string }) => (message.role === 'user' ? [{ kind: 'ticket', value: '42' }] : [])
    expect(findFacts([user('u1')], unknown, own)).toEqual([{ kind: 'ticket', value: '42' }])
  })

  it('A136: accumulate without duplicates, and a file read and modified counts as modified', () => {
    const earlier = [
      { kind: 'file-read', value: 'a' },
      { kind: 'file-modified', value: 'b' },
      { kind: 'tool', value: 'read' },
    ]
    const found = [
      { kind: 'file-modified', value: 'a' },
      { kind: 'file-read', value: 'b' },
      { kind: 'file-read', value: 'c' },
      { kind: 'tool', value: 'read' },
    ]
    expect(mergeFacts(earlier, found)).toEqual([
      { kind: 'file-modified', value: 'b' },
      { kind: 'tool', value: 'read' },
      { kind: 'file-modified', value: 'a' },
      { kind: 'file-read', value: 'c' },
    ])
  })

  it('are bounded: the latest are kept', () => {
    const many = Array.from({ length: 600 }, (_, place) => ({ kind: 'tool', value: `t${place}` }))
    const merged = mergeFacts(many, [
      { kind: 'tool', value: 'last' },
      { kind: 'tool', value: 'x'.repeat(501) },
    ])
    expect(merged).toHaveLength(500)
    expect(merged.at(-1)).toEqual({ kind: 'tool', value: 'last' })
  })
})
