import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compareRules, rulesInSpecification, rulesInTests, rulesOfRun, testPatterns } from '../rule-names.mjs'

describe('rules of a specification', () => {
  it('finds the numbers in bold, several to a line, in order', () => {
    const text = [
      'Rules are numbered **Z1…**; each is one test.',
      '- **Z1** The first. **Z2** The second, see Z9.',
      '***Head.*** **Z10** The third.',
    ].join('\n')
    expect(rulesInSpecification(text)).toEqual(['Z1', 'Z2', 'Z10'])
  })
})

describe('rules held by tests', () => {
  const held = (name: string) => rulesInTests(name.replaceAll('#', 'Z'))

  it('reads one or several rules at the start of a test name', () => {
    expect(held("it('#4: joined deltas')")).toEqual(['Z4'])
    expect(held('test("#4, #5: two rules")')).toEqual(['Z4', 'Z5'])
    expect(held('it.each(cases)(`#12 #13: %s`)')).toEqual(['Z12', 'Z13'])
    expect(held("it(\n  '#7: on the next line',")).toEqual(['Z7'])
  })

  it('ignores rules that are only mentioned, and skipped tests', () => {
    expect(held("it('keeps what #4: promises')")).toEqual([])
    expect(held("it('#4 without a colon')")).toEqual([])
    expect(held("it.skip('#4: later')")).toEqual([])
  })
})

it('counts a rule where a test of it passed, and names the files in which a kit has skipped it', () => {
  const file = (name: string, ...assertionResults: readonly { readonly title: string; readonly status: string }[]) => ({
    name,
    assertionResults,
  })
  const { held, skipped } = rulesOfRun({
    testResults: [
      file(
        'here',
        { title: 'Z1, Z2: both', status: 'passed' },
        { title: 'Z3: not here', status: 'skipped' },
        { title: 'Z4: broken', status: 'failed' },
      ),
      file(
        'there',
        { title: 'Z2: not there (hooks: it has none)', status: 'skipped' },
        { title: 'Z1: in part', status: 'skipped' },
        { title: 'Z1: in part', status: 'passed' },
      ),
    ],
  })
  expect([...held]).toEqual(['Z1', 'Z2'])
  expect([...skipped]).toEqual([
    ['here', ['Z3']],
    ['there', ['Z2']],
  ])
})

it('looks for tests in packages, in helpers that define tests, and in the kits that packages ship', () => {
  const found = globSync([...testPatterns], { cwd: join(import.meta.dirname, '../..') })
  expect(found).toEqual(
    expect.arrayContaining([
      'packages/testing/src/row-kit/changes.ts',
      'packages/sessions/test/stores/memory.test.ts',
      'packages/sessions/test/programs/explore.ts',
      'scripts/test/rule-names.test.ts',
    ]),
  )
  expect(found.filter((file) => file.includes('node_modules') || /^packages\/(?!testing\/)\w+\/src\//.test(file))).toEqual([])
})

it('orders rules by number, not by text', () => {
  expect(['Z10', 'Z9', 'Y1'].sort(compareRules)).toEqual(['Y1', 'Z9', 'Z10'])
})
