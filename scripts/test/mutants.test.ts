import { existsSync, globSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { areas } from '../mutants/areas.ts'
import { equivalents } from '../mutants/equivalents.ts'
import { mutantsOf, plant } from '../mutants/mutations.ts'
import { isSame, mutantsOfArea, runArea, type Area, type Equivalent } from '../mutants/run-area.ts'
import { shuffled } from '../mutants/shuffled.ts'
import { copyTree, removeTree } from '../mutants/tree-copy.ts'

const root = join(import.meta.dirname, '../..')

/** Returns the results of all faults in one line. */
function madeOf(text: string): readonly string[] {
  return mutantsOf('source.ts', text).map((mutant) => plant(text, mutant).trim())
}

describe('planted mistakes', () => {
  it('invert conditions and remove their parts', () => {
    expect(madeOf('if (a && b) go()')).toEqual([
      'if ((a && b) || true) go()',
      'if ((a && b) && false) go()',
      'if (a || b) go()',
      'if ((a)) go()',
      'if ((b)) go()',
      'if (a && b) {}',
    ])
    expect(madeOf('const x = a ? b : c')).toEqual(['const x = (a) || true ? b : c', 'const x = (a) && false ? b : c'])
    expect(madeOf('x = !a')).toEqual(['{}', 'x = a'])
    expect(madeOf('if (a) b\nelse c()')).toContain('if (a) b\nelse {}')
  })

  it('swap operators and move boundaries', () => {
    expect(madeOf('const x = a < b')).toEqual(['const x = a >= b', 'const x = a <= b'])
    expect(madeOf('const x = a + 1')).toEqual(['const x = a - 1', 'const x = a + 2'])
    expect(madeOf("const x = 'a b' + c")).toEqual([])
  })

  it('remove calls, assignments, awaits and keys, and empty texts and lists', () => {
    expect(madeOf('await go(x)')).toEqual(['{}', '(go(x))'])
    expect(madeOf('this.a = b')).toEqual(['{}'])
    expect(madeOf("const x = { a, b: 'c' }")).toEqual(["const x = { ...{}, b: 'c' }", 'const x = { a, ...{} }', "const x = { a, b: '' }"])
    expect(madeOf('const x = [a]')).toEqual(['const x = []'])
    expect(madeOf('const x = true')).toEqual(['const x = false'])
  })

  it('leave types, imports and texts for people unchanged', () => {
    expect(madeOf("import { a } from './a.ts'\nexport type B = 'b' | 'c'\nconst x: 'd' = `${a} is not a number`")).toEqual([])
    expect(madeOf("throw new Error('This is wrong.')")).toEqual([])
  })
})

it('have the same order for the same seed', () => {
  const items = Array.from({ length: 100 }, (_, place) => place)
  const drawn = shuffled(items, 7)
  expect(drawn).not.toEqual(items)
  expect(drawn.toSorted((one, other) => one - other)).toEqual(items)
  expect(shuffled(items, 7)).toEqual(drawn)
  expect(shuffled(items, 8)).not.toEqual(drawn)
})

it('every source and test of the table exists, and every equivalent mistake can be planted', () => {
  for (const area of areas) {
    for (const test of area.parts.flatMap(({ tests }) => tests)) expect(existsSync(join(root, test)), test).toBe(true)
    expect(mutantsOfArea(area, root, equivalents).length, area.name).toBeGreaterThan(20)
  }
  const all = areas.flatMap((area) => mutantsOfArea(area, root, []))
  for (const equivalent of equivalents)
    expect(
      all.some((mutant) => isSame(equivalent, mutant)),
      JSON.stringify(equivalent),
    ).toBe(true)
})

it('a mistake that changes nothing in one line is still planted in another', () => {
  const area: Area = { name: 'one', parts: [{ project: 'sessions', sources: ['packages/sessions/src/runtime/claim-loop.ts'], tests: [] }] }
  const numbers = (more: readonly Equivalent[]) =>
    mutantsOfArea(area, root, more).filter(({ kind, original }) => kind === 'other-number' && original === '0')
  const equivalent = { source: 'packages/sessions/src/runtime/claim-loop.ts', kind: 'other-number', original: '0', reason: '' } as const
  expect(numbers([equivalent])).toEqual([])
  const left = numbers([{ ...equivalent, line: '#counts' }])
  expect(left).toEqual(numbers([]).filter(({ lineText }) => !lineText.includes('#counts')))
  expect(left.length).toBeGreaterThan(0)
})

it('a copy of the tree has its own packages, whoever imports them', () => {
  const copy = copyTree(root)
  onTestFinished(() => removeTree(copy))
  const links = globSync(['node_modules/@bowline/*', 'packages/*/node_modules/@bowline/*'], { cwd: copy })
  expect(links.length).toBeGreaterThan(10)
  for (const link of links) expect(realpathSync(join(copy, link))).toContain(realpathSync(copy))
})

const ages = {
  'ages.ts': 'export function isAdult(age: number): boolean {\n  const found: { of: number } = { of: age }\n  return found.of >= 18\n}\n',
  // Does not test the age of eighteen.
  'ages.test.ts':
    "import { expect, it } from 'vitest'\nimport { isAdult } from './ages.ts'\nit('tells adults', () => expect([isAdult(40), isAdult(5)]).toEqual([true, false]))\n",
  'tsconfig.json': '{ "compilerOptions": { "target": "ES2024", "types": [], "strict": true } }\n',
  'vitest.config.mjs': "export default { test: { projects: [{ test: { name: 'ages', globalSetup: './setup.mjs' } }] } }\n",
  // Stands for the bundles of the programs that tests start.
  'setup.mjs': `import { readFileSync } from 'node:fs'
export default () => {
  if (!readFileSync(new URL('ages.ts', import.meta.url), 'utf8').includes('found.of >= 18')) throw new Error('This source has a fault.')
}
`,
}

it('counts the mistakes that a test detects, names the other ones, and leaves the sources unchanged', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-mutants-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, text] of Object.entries(ages)) writeFileSync(join(folder, file), text)
  const area: Area = { name: 'ages', parts: [{ project: 'ages', sources: ['ages.ts'], tests: ['ages.test.ts'] }] }
  const lines: string[] = []
  const result = await runArea(area, { root: folder, sampleSize: 100, seed: 1, equivalents: [], print: (line) => void lines.push(line) })
  expect(result).toMatchObject({ name: 'ages', possible: 4, planted: 3, noticed: 1 })
  expect(result.unnoticed).toMatchObject([
    { source: 'ages.ts', kind: 'move-boundary', original: '>=', replacement: '>' },
    { source: 'ages.ts', kind: 'other-number', original: '18', replacement: '19' },
  ])
  expect(lines.filter((line) => line.includes('by the time limit'))).toEqual([])
  expect(readFileSync(join(folder, 'ages.ts'), 'utf8')).toBe(ages['ages.ts'])
})
