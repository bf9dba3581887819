import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { baseOf, missingChangesets } from '../api-changes.ts'
import { bareExports, readApis, readWorkspace, reportFile, reportOf } from '../api.ts'
import { root } from '../setup.mjs'

/** Packages in which an export without a comment fails the test. */
const documented: readonly string[] = [
  'llm',
  'agent-loop',
  'sessions',
  'postgres',
  'redis',
  'restate',
  'bridge',
  'server',
  'client',
  'testing',
]

const workspace = readWorkspace()

function apiOf(files: Readonly<Record<string, string>>) {
  const api = readApis(new Map(Object.entries(files)), new Map([['p', new Map([['@x/p', '/index.d.ts']])]])).get('p')
  if (!api) throw new Error('The package was not read.')
  return api
}

describe('comments on exports', () => {
  it.each(documented)('D45: every export of %s has a comment with a sentence', (name) => {
    const api = workspace.get(name)
    expect(api?.entries.size).toBeGreaterThan(0)
    expect(api && bareExports(api)).toEqual([])
  })

  it('D45: names each export of this package whose comment is missing, has only tags or is a word or two', () => {
    const files = {
      '/index.d.ts':
        "export * from './all.ts'\nexport { Renamed as Other } from './all.ts'\nexport { ai } from 'ai'\nexport { y } from '@x/y'\n",
      '/all.d.ts': [
        '/** Returns the sum of two numbers. */\nexport declare function sum(): number;',
        '/** @internal */\nexport declare const onlyTag: number;',
        '/** Options. */\nexport interface Options {}',
        '// Not a doc comment at all.\nexport type Bare = 1;',
        'export declare class Renamed {}',
        '/** Says one sentence. */\nexport declare function over(a: string): void;\nexport declare function over(a: number): void;',
      ].join('\n'),
    }
    expect(bareExports(apiOf(files))).toEqual(['@x/p Bare', '@x/p Options', '@x/p Other', '@x/p Renamed', '@x/p onlyTag'])
  })
})

describe('API reports', () => {
  it.each([...workspace])('D45: the exports of %s equal its report (`npm run api` writes it anew)', (name, api) => {
    expect(reportOf(api)).toBe(readFileSync(reportFile(name), 'utf8'))
  })

  it('D45: a report contains each export once, the types that exports refer to, no comments and no private names of a file', () => {
    const files = {
      '/index.d.ts': "export * from './all.ts'\nexport type { Tool as AiTool } from 'ai'\n",
      '/sub.d.ts': "export { run } from './all.ts'\n",
      '/all.d.ts': [
        "import type { Inner as Kept } from './inner.ts'",
        '/** Runs. */\nexport declare function run(\n  /** How long. */ ms: number): Promise<Kept>;',
        'export declare function run(): void;',
        'export interface A { readonly b: typeof one | typeof other; }',
        'declare const one = 1, other: typeof one | typeof other;',
        'interface Unused {}',
        'export {};',
      ].join('\n'),
      '/inner.d.ts': 'export interface Inner { readonly deeper: Deeper; }\ntype Deeper = Deeper[];\n',
    }
    const api = readApis(
      new Map(Object.entries(files)),
      new Map([
        [
          'p',
          new Map([
            ['@x/p', '/index.d.ts'],
            ['@x/p/sub', '/sub.d.ts'],
          ]),
        ],
      ]),
    ).get('p')
    expect(api && reportOf(api)).toMatchInlineSnapshot(`
      "Written by \`npm run api\`. Do not edit.

      ## @x/p

      \`\`\`ts
      export interface A {
          readonly b: typeof one | typeof other;
      }
      export { AiTool } from 'ai'
      export declare function run(ms: number): Promise<Kept>;
      export declare function run(): void;
      \`\`\`

      ## @x/p/sub

      \`\`\`ts
      export { run } // as above
      \`\`\`

      ## Referred to, not exported

      \`\`\`ts
      declare const one = 1, other: typeof one | typeof other;
      export interface Inner {
          readonly deeper: Deeper;
      }
      type Deeper = Deeper[];
      \`\`\`
      "
    `)
  })
})

describe('changesets of API changes', () => {
  let folder = ''
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' })
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bowline-api-'))
    git('init', '-q', '-b', 'main')
    for (const name of ['llm', 'client']) {
      write(`packages/${name}/package.json`, JSON.stringify({ name: `@bowline/${name}` }))
      write(`packages/${name}/api.md`, 'old')
    }
    write('.changeset/earlier.md', "---\n'@bowline/llm': minor\n---\n\nText.\n")
    git('add', '.')
    git('commit', '-qm', 'base')
    git('checkout', '-qb', 'work')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('D45: a package whose report changed needs a changeset of the same branch, committed or not', () => {
    const base = baseOf(folder) ?? ''
    expect(missingChangesets(folder, base)).toEqual([])
    write('packages/llm/api.md', 'new')
    write('packages/client/api.md', 'new')
    expect(missingChangesets(folder, base)).toEqual(['@bowline/client', '@bowline/llm'])
    git('commit', '-qam', 'change')
    write('.changeset/later.md', "---\n'@bowline/llm': patch\n---\n\nNot of '@bowline/client': minor.\n")
    expect(missingChangesets(folder, base)).toEqual(['@bowline/client'])
    git('add', '.')
    git('commit', '-qm', 'changeset')
    expect(missingChangesets(folder, base)).toEqual(['@bowline/client'])
    write('.changeset/earlier.md', '---\n"@bowline/client": minor\n---\n\nText.\n')
    expect(missingChangesets(folder, base)).toEqual([])
  })

  it('D45: later changes on main do not count, nor does the first report of a package', () => {
    write('packages/server/api.md', 'first')
    git('add', '.')
    git('commit', '-qm', 'first report')
    git('checkout', '-q', 'main')
    write('packages/llm/api.md', 'new on main')
    git('commit', '-qam', 'main moves')
    git('checkout', '-q', 'work')
    expect(missingChangesets(folder, baseOf(folder) ?? '')).toEqual([])
  })

  it('D45: compares with origin/main rather than main, and has no base if neither exists', () => {
    const first = git('rev-parse', 'main').trim()
    git('update-ref', 'refs/remotes/origin/main', first)
    git('commit', '-q', '--allow-empty', '-m', 'local')
    git('branch', '-qf', 'main')
    expect(baseOf(folder)).toBe(first)
    git('update-ref', '-d', 'refs/remotes/origin/main')
    git('branch', '-qD', 'main')
    expect(baseOf(folder)).toBeUndefined()
  })
})

const base = baseOf(root)

it.skipIf(base === undefined)(
  'D45: each package whose report differs from the base branch has a changeset (skipped without main or origin/main)',
  () => {
    expect(missingChangesets(root, base ?? '')).toEqual([])
  },
)
