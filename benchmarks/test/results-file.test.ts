import { describe, expect, it } from 'vitest'
import { replaceSection } from '../src/results-file.ts'

describe('replaceSection', () => {
  const both = replaceSection(replaceSection('', 'peers', 'theirs'), 'bench', 'ours')

  it('keeps the order, whoever comes first', () => {
    expect(both).toBe(replaceSection(replaceSection('', 'bench', 'ours'), 'peers', 'theirs'))
    expect(both).toBe('# Benchmarks\n\n<!-- bench -->\n\nours\n\n<!-- /bench -->\n\n<!-- peers -->\n\ntheirs\n\n<!-- /peers -->\n')
  })

  it('replaces one section and leaves the other as it was', () => {
    expect(replaceSection(both, 'peers', 'a second run')).toBe(both.replace('theirs', 'a second run'))
    expect(replaceSection(both, 'bench', '## A\n\n| a |\n\n## B')).toBe(both.replace('ours', '## A\n\n| a |\n\n## B'))
  })

  it('writes the same file again from the same figures', () => {
    expect(replaceSection(both, 'bench', 'ours')).toBe(both)
  })

  it('takes what is in a body literally', () => {
    expect(replaceSection(both, 'bench', '$& and $1')).toContain('\n$& and $1\n')
  })
})
