import { describe, expect, it } from 'vitest'
import { bareExports, readApis, readWorkspace } from '../api.ts'

/** Packages of which an export without a comment fails the test. */
const documented: readonly string[] = []

const workspace = readWorkspace()

function apiOf(files: Readonly<Record<string, string>>) {
  const api = readApis(new Map(Object.entries(files)), new Map([['p', new Map([['@x/p', '/index.d.ts']])]])).get('p')
  if (!api) throw new Error('The package was not read.')
  return api
}

describe('comments on exports', () => {
  it.each(documented)('D45: every export of %s has a comment that says a sentence', (name) => {
    const api = workspace.get(name)
    expect(api?.entries.size).toBeGreaterThan(0)
    expect(api && bareExports(api)).toEqual([])
  })

  it('D45: names each export of this package whose comment is missing, has only tags or is a word or two', () => {
    const files = {
      '/index.d.ts': "export * from './all.ts'\nexport { Renamed as Other } from './all.ts'\nexport { ai } from 'ai'\nexport { y } from '@x/y'\n",
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
