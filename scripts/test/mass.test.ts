import { describe, expect, it } from 'vitest'
import { exportedNames, graphCeiling, linesOfCode, loweredMass, massOf, massProblems, optionsIn, tellMass } from '../mass.mjs'
import { costsOf, overCost, tellCosts } from '../test-costs.mjs'

const code = (lines: number) => 'work()\n'.repeat(lines)

describe('mass of a package', () => {
  it.each([
    ['a()\n\n  \nb()\n', 2],
    ['// only words\na() // with words\n', 1],
    ['/** one line */\n/**\n * several\n */\na()\n', 1],
    ['/* open\nstill words\nend */\na()\nb()', 2],
  ])('counts the lines of %j without comments and blanks', (text, lines) => {
    expect(linesOfCode(text)).toBe(lines)
  })

  it('lists the names that an entry exports, in every form', () => {
    const entry =
      "export { a, b as c } from './a.ts'\nexport type { D } from './d.ts'\nexport const e = 1, f = 2\nexport function g() {}\nexport interface H {}\nconst own = 1\nimport './x.ts'\n"
    expect(exportedNames(entry)).toEqual(['a', 'c', 'D', 'e', 'f', 'g', 'H'])
  })

  it('counts a name of two entries once, short files, members of the hooks, and options of the page', () => {
    const sources = new Map([
      ['index.ts', "export { a, b } from './a.ts'"],
      ['other.ts', "export { b } from './a.ts'"],
      ['a.ts', `${code(20)}`],
      ['turn.ts', 'export interface Other { x(): void }\nexport interface Hooks { open(): void; close(): void; end?: () => void }'],
    ])
    const mass = massOf({ sources, entries: ['index.ts', 'other.ts'], hooks: { file: 'turn.ts', name: 'Hooks' }, options: 4 })
    expect(mass).toEqual({ lines: 24, files: 4, shortFiles: 3, exportedNames: 2, hooks: 3, options: 4 })
    const page =
      '# Options\n\n### A\n\n| option |\n| --- |\n| `x` | 1 |\n| `y?` | 2 |\n\n### B\n\n| `z` | 3 |\n\n## next\n\n### C\n\n| `u` |\n'
    expect(['A', 'B', 'C', 'D'].map((type) => optionsIn(page, type))).toEqual([2, 1, 1, 0])
  })

  it('refuses what is above its ceiling, and a package without ceilings', () => {
    const mass = { lines: 11, files: 2, shortFiles: 0, exportedNames: 3 }
    expect(massProblems('demo', mass, { ...mass, lines: 12 })).toEqual([])
    expect(massProblems('demo', mass, { ...mass, lines: 10 })).toEqual([
      expect.stringContaining('demo: 11 lines of code, and the ceiling is 10.'),
    ])
    expect(massProblems('demo', { ...mass, hooks: 1 }, mass)).toEqual([
      expect.stringContaining('demo: 1 kernel hooks, and the ceiling is 0.'),
    ])
    expect(massProblems('demo', mass, undefined)).toEqual([expect.stringContaining('demo has no ceilings')])
    expect(tellMass('demo', mass, { ...mass, lines: 12 }, { lines: 5 })).toContain(
      '11 lines of code (ceiling 12, target 5); 2 files (ceiling 2)',
    )
  })

  it('only lowers: a ceiling below the count stays, and the seconds of the tests stay', () => {
    const ceiling = { lines: 10, files: 9, shortFiles: 1, exportedNames: 3, testSeconds: 7, upwardImports: 2 }
    const mass = { lines: 11, files: 2, shortFiles: 0, exportedNames: 3 }
    expect(loweredMass(ceiling, mass)).toEqual({ lines: 10, files: 2, shortFiles: 0, exportedNames: 3, testSeconds: 7 })
    expect(loweredMass(undefined, mass)).toEqual(mass)
    expect(graphCeiling(ceiling)).toEqual({ upwardImports: 2, filesInCirclesByValue: 0, filesInCircles: 0 })
    expect([graphCeiling(undefined), graphCeiling(mass)]).toEqual([undefined, undefined])
  })
})

describe('processor time of the tests', () => {
  const file = (name: string, cpuMs?: number) => ({ project: { name }, meta: () => (cpuMs === undefined ? {} : { cpuMs }) })

  it('adds up the files of a project, and refuses a project that is far above its ceiling', () => {
    const costs = costsOf([file('llm', 1_500), file('llm', 2_500), file('client', 10_000), file('demo')])
    expect([...costs]).toEqual([
      ['llm', 4],
      ['client', 10],
      ['demo', 0],
    ])
    const ceilings = { llm: { testSeconds: 3 }, client: { testSeconds: 4 } }
    expect(overCost(costs, ceilings)).toEqual([
      expect.stringContaining('client: its tests take 10 s of processor time, and the ceiling is 4 s'),
    ])
    expect(tellCosts(costs, ceilings)).toEqual([
      'processor time of the tests: llm 4.0 s (ceiling 3), client 10.0 s (ceiling 4), demo 0.0 s',
    ])
    expect(tellCosts(new Map(), {})).toEqual([])
  })

  it('converts the time of a slower machine, by the reference work of most of its files, and leaves that of a faster one', () => {
    const timed = (referenceMs: number) => ({ project: { name: 'llm' }, meta: () => ({ cpuMs: 4_000, referenceMs }) })
    expect(costsOf([timed(2.4), timed(2.4), timed(50)]).get('llm')).toBe(3)
    expect(costsOf([timed(0.1), timed(0.1), timed(50)]).get('llm')).toBe(12)
  })
})
