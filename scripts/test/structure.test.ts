import { describe, expect, it } from 'vitest'
import type { Level } from '../../structure.js'
import { circlesOf, importGraph, importsOf } from '../import-graph.mjs'
import { checkStructure, lowered, type Counts } from '../structure-check.mjs'

const levels: readonly Level[] = [
  { room: 'base', holds: ['json.ts', 'clock.ts'] },
  ['plugins/retry', 'plugins/budget'],
  'run',
  'run/testing',
  'index.ts',
]

/** Checks a package with these files. Other files of `levels` exist and are empty. */
function check(files: Readonly<Record<string, string>>, ceiling?: Counts) {
  const empty = {
    'json.ts': '',
    'clock.ts': '',
    'plugins/retry/a.ts': '',
    'plugins/budget/a.ts': '',
    'run/a.ts': '',
    'run/testing/a.ts': '',
    'index.ts': '',
  }
  return checkStructure({ name: 'demo', levels, sources: new Map(Object.entries({ ...empty, ...files })), ceiling })
}

describe('imports of a file', () => {
  const imports = (text: string) =>
    importsOf('a.ts', text).map(({ specifier, isType, line }) => `${line} ${specifier}${isType ? ' by type' : ''}`)

  it.each([
    ["import { a } from './b.ts'", '1 ./b.ts'],
    ["import './b.ts'", '1 ./b.ts'],
    ["import * as b from './b.ts'", '1 ./b.ts'],
    ["import { a, type B } from './b.ts'", '1 ./b.ts'],
    ["export { a } from './b.ts'", '1 ./b.ts'],
    ["export * from './b.ts'", '1 ./b.ts'],
    ["const load = () => import('./b.ts')", '1 ./b.ts'],
    ["\nimport {\n  a,\n} from './b.ts'", '4 ./b.ts'],
    ["import type { A } from './b.ts'", '1 ./b.ts by type'],
    ["import type * as b from './b.ts'", '1 ./b.ts by type'],
    ["export type { A } from './b.ts'", '1 ./b.ts by type'],
    ["let a: import('./b.ts').A", '1 ./b.ts by type'],
    ["type A = { a: typeof import('./b.ts') }", '1 ./b.ts by type'],
  ])('finds the import in %j', (text, seen) => {
    expect(imports(text)).toEqual([seen])
  })

  it('counts a list of inline types as code, which loads the file', () => {
    expect(imports("import { type A, type B } from './b.ts'")).toEqual(['1 ./b.ts'])
  })

  it('finds no import in a comment or a text', () => {
    expect(imports("// import { a } from './b.ts'\nconst text = \"import('./c.ts')\"")).toEqual([])
  })
})

describe('import graph', () => {
  it('joins the imports of one file by another, with the first that is code', () => {
    const sources = new Map([
      ['a/a.ts', "import type { B } from '../b.ts'\nimport { b } from '../b.ts'\nimport { z } from 'zod'"],
      ['b.ts', ''],
    ])
    expect(importGraph(sources)).toEqual([{ from: 'a/a.ts', to: 'b.ts', isType: false, line: 2 }])
  })

  it('knows the package by its own name', () => {
    const sources = new Map([
      ['a.ts', "import { b } from '@demo/demo/b'"],
      ['b/index.ts', ''],
    ])
    expect(importGraph(sources, new Map([['@demo/demo/b', 'b/index.ts']]))).toMatchObject([{ from: 'a.ts', to: 'b/index.ts' }])
  })

  it('groups the files of circles, each once, without files that only lead to one', () => {
    const edge = (from: string, to: string) => ({ from, to, isType: false, line: 1 })
    const edges = [
      edge('in', 'a'),
      edge('a', 'b'),
      edge('b', 'c'),
      edge('c', 'a'),
      edge('c', 'd'),
      edge('d', 'c'),
      edge('d', 'out'),
      edge('self', 'self'),
      edge('x', 'y'),
      edge('y', 'x'),
      edge('y', 'a'),
    ]
    expect(circlesOf(edges)).toEqual([['a', 'b', 'c', 'd'], ['self'], ['x', 'y']])
  })
})

describe('structure of a package', () => {
  it('accepts imports from its own room and from lower ones', () => {
    const { problems, findings, counts } = check({
      'clock.ts': "import { isRecord } from './json.ts'",
      'run/a.ts': "import { retry } from '../plugins/retry/a.ts'\nimport { clock } from '../clock.ts'",
      'run/testing/a.ts': "import { a } from '../a.ts'",
      'index.ts': "export { a } from './run/a.ts'",
    })
    expect(problems).toEqual([])
    expect(findings).toEqual([])
    expect(counts).toEqual({ upwardImports: 0, filesInCirclesByValue: 0, filesInCircles: 0 })
  })

  it('refuses an import from a higher room', () => {
    expect(check({ 'plugins/retry/a.ts': "\nimport { run } from '../../run/a.ts'" }).problems).toEqual([
      'packages/demo/src/plugins/retry/a.ts:2 imports run/a.ts, but `plugins/retry` is below `run` (plugins/retry | plugins/budget < run). ' +
        'Move what it needs to `plugins/retry` or below, or invert the dependency: let `run` or a room above it hand it in.',
    ])
  })

  it.each(["import type { Run } from './run/a.ts'", "let run: import('./run/a.ts').Run", "export type { Run } from './run/a.ts'"])(
    'refuses an import of types from a higher room: %s',
    (text) => {
      const { problems } = check({ 'json.ts': text })
      expect(problems).toEqual([expect.stringContaining('json.ts:1 imports run/a.ts by type, but `base` is below `run`')])
    },
  )

  it('refuses an import from a room beside its own', () => {
    const { problems } = check({ 'plugins/retry/a.ts': "import { budget } from '../budget/a.ts'" })
    expect(problems).toEqual([expect.stringContaining('`plugins/retry` stands beside `plugins/budget`')])
  })

  it('uses the closest room of a file: a folder in a folder may be higher', () => {
    expect(check({ 'run/a.ts': "import { a } from './testing/a.ts'" }).problems).toEqual([
      expect.stringContaining('`run` is below `run/testing`'),
    ])
  })

  it('refuses a file in no room', () => {
    expect(check({ 'stray/a.ts': '' }).problems).toEqual([
      'packages/demo/src/stray/a.ts is in no room. Add its folder to `demo` in structure.js, or move it to a room that is there.',
    ])
  })

  it('refuses a package that has no list', () => {
    expect(checkStructure({ name: 'demo', levels: undefined, sources: new Map([['a.ts', '']]), ceiling: undefined }).problems).toEqual([
      expect.stringContaining('a.ts is in no room'),
    ])
  })

  it('refuses a room without a file', () => {
    expect(
      checkStructure({ name: 'demo', levels: ['a.ts', 'gone'], sources: new Map([['a.ts', '']]), ceiling: undefined }).problems,
    ).toEqual(['demo: structure.js names gone, and no file is there. Remove it from the list.'])
  })

  it('refuses a room that is named twice', () => {
    const sources = new Map([['a.ts', '']])
    expect(
      checkStructure({ name: 'demo', levels: ['a.ts', { room: 'all', holds: ['a.ts'] }], sources, ceiling: undefined }).problems,
    ).toEqual(['demo: structure.js names a.ts twice. Leave it in one room.'])
  })

  it('refuses a circle by value', () => {
    const { problems, counts } = check({ 'clock.ts': "\nimport { a } from './json.ts'", 'json.ts': "import { b } from './clock.ts'" })
    expect(problems).toEqual([
      'A circle by value: packages/demo/src/clock.ts:2 → packages/demo/src/json.ts:1 → packages/demo/src/clock.ts. ' +
        'Move what both ends need to a file of its own, or invert the dependency.',
    ])
    expect(counts).toEqual({ upwardImports: 0, filesInCirclesByValue: 2, filesInCircles: 2 })
  })

  it('refuses a circle that one type closes', () => {
    const { problems, counts } = check({ 'clock.ts': "import { a } from './json.ts'", 'json.ts': "import type { B } from './clock.ts'" })
    expect(problems).toEqual([
      expect.stringContaining(
        'A circle by type: packages/demo/src/clock.ts:1 → packages/demo/src/json.ts:1 —type→ packages/demo/src/clock.ts.',
      ),
    ])
    expect(counts).toEqual({ upwardImports: 0, filesInCirclesByValue: 0, filesInCircles: 2 })
  })

  it('refuses a file that imports itself', () => {
    expect(check({ 'clock.ts': "export type { Clock } from './clock.ts'" }).counts.filesInCircles).toBe(1)
  })

  it('shows the circle by value within a group that type imports make larger', () => {
    const { problems } = check({
      'run/a.ts': "import type { B } from './b.ts'",
      'run/b.ts': "import type { A } from './a.ts'\nimport { c } from './c.ts'",
      'run/c.ts': "import { b } from './b.ts'",
    })
    expect(problems).toEqual([
      expect.stringMatching(/^A circle by value: \S+b\.ts:2 → \S+c\.ts:1 → \S+b\.ts\..* It is one of the circles among 3 files\.$/),
    ])
  })
})

describe('ceiling of a package', () => {
  const faults = {
    'plugins/retry/a.ts': "import { run } from '../../run/a.ts'",
    'clock.ts': "import { a } from './json.ts'",
    'json.ts': "import type { B } from './clock.ts'",
  }
  const exact: Counts = { upwardImports: 1, filesInCirclesByValue: 0, filesInCircles: 2 }

  it('accepts the counted faults, and lists them', () => {
    const { problems, findings, counts } = check(faults, exact)
    expect(problems).toEqual([])
    expect(findings).toHaveLength(2)
    expect(counts).toEqual(exact)
  })

  it('fails when there are more', () => {
    expect(check(faults, { ...exact, upwardImports: 0 }).problems).toEqual([
      'demo: 1 upward imports, and its ceiling is 0. List them with `node scripts/structure.mjs demo` and mend those that are new.',
    ])
  })

  it('fails when there are fewer: the ceiling falls with every fixed fault', () => {
    expect(check(faults, { ...exact, filesInCirclesByValue: 3 }).problems).toEqual([
      'demo: 0 files in circles by value, and its ceiling is 3. Lower it with `node scripts/structure.mjs --lower`.',
    ])
  })

  it('fails when no fault is left to count', () => {
    expect(check({}, { upwardImports: 0, filesInCirclesByValue: 0, filesInCircles: 0 }).problems).toEqual([
      'demo: its ceiling is 0. Remove it with `node scripts/structure.mjs --lower`.',
    ])
  })

  it('allows no file outside the rooms, but allows empty rooms', () => {
    const sources = new Map([
      ['a.ts', "import { b } from './b.ts'"],
      ['b.ts', ''],
      ['stray.ts', ''],
    ])
    const { problems } = checkStructure({
      name: 'demo',
      levels: ['a.ts', 'b.ts', 'kernel'],
      sources,
      ceiling: { ...exact, filesInCircles: 0 },
    })
    expect(problems).toEqual([expect.stringContaining('stray.ts is in no room')])
  })

  it('is lowered, never raised', () => {
    expect(
      lowered(
        { upwardImports: 5, filesInCirclesByValue: 0, filesInCircles: 1 },
        { upwardImports: 3, filesInCirclesByValue: 0, filesInCircles: 2 },
      ),
    ).toEqual({
      upwardImports: 3,
      filesInCirclesByValue: 0,
      filesInCircles: 1,
    })
    expect(lowered(exact, { upwardImports: 0, filesInCirclesByValue: 7, filesInCircles: 0 })).toBeUndefined()
  })
})
