import { expect, it } from 'vitest'
import { readFrontMatter } from '../../src/node/load-skills.ts'

const head = (...lines: readonly string[]) => Object.fromEntries(readFrontMatter(['---', ...lines, '---', 'name: body'].join('\n')) ?? [])

it.each([
  [['name: pdf', 'description:   Reads: files, "quoted" too  '], { name: 'pdf', description: 'Reads: files, "quoted" too' }],
  [['description: "a \\"b\\"\\n\\\\c" # note'], { description: 'a "b"\n\\c' }],
  [["description: 'it''s' "], { description: "it's" }],
  [['description: first', '  second', '', '  third', 'name: x'], { description: 'first second third', name: 'x' }],
  [['description: "first', '  second"'], { description: 'first second' }],
  [['description: >-', '  one', '  two', '', '  three', 'name: x'], { description: 'one two\nthree', name: 'x' }],
  [['description: |', '  one', '    two'], { description: 'one\n  two' }],
  [['description: |'], { description: '' }],
  [['metadata:', '  name: inner', '  - x', '# comment', 'name: outer'], { metadata: '', name: 'outer' }],
  [['name: first', 'name: second', 'no value', ':'], { name: 'second' }],
  [['version:2', 'name:'], { name: '' }],
  [[], {}],
])('%j is read as %j', (lines, expected) => {
  expect(head(...lines)).toEqual(expected)
})

it('accepts line ends of Windows', () => {
  expect(readFrontMatter('---\r\nname: a\r\n---\r\nbody')?.get('name')).toBe('a')
})

it.each(['', 'name: a', '---\nname: a', 'text\n---\nname: a\n---', '----\nname: a\n---'])('%j has no front matter', (text) => {
  expect(readFrontMatter(text)).toBeUndefined()
})
