import { execFile, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../programs.ts'

const root = join(import.meta.dirname, '../..')
/** Has all packages that programs import. */
const installed = join(root, 'apps/demo')
/** Has React too. */
const withReact = join(root, 'apps/studio')
const pages = globSync(['docs/*.md', 'docs/cookbook/*.md'], { cwd: root }).filter((page) => basename(page) !== 'mutants.md').sort()

interface Example {
  readonly code: string
  /** The word after the language: `check` is for programs that need what a test has not. */
  readonly mode: string
  readonly isPage: boolean
}

function examplesOf(page: string): readonly Example[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```ts(x?)(?: (\w+))?\n([\s\S]*?)^```/gm)].map(([, x, mode = x ? 'check' : 'run', code = '']) => ({ mode, code, isPage: x === 'x' }))
}

const withExamples = pages.filter((page) => examplesOf(page).length > 0)

/** The lines that the program prints, each with the place of its data in a folder that is removed. */
async function printed(code: string): Promise<readonly string[]> {
  const data = mkdtempSync(join(tmpdir(), 'bowline-docs-'))
  try {
    const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', code.replaceAll('.bowline/', `${data}/`)]
    const { OPENAI_API_KEY: _key, ...env } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: installed, env })
    return stdout.trimEnd().split('\n')
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

describe('the documentation', () => {
  it('has programs, and each block of TypeScript says whether it is run or only checked', () => {
    expect(withExamples.length).toBeGreaterThan(0)
    expect([...new Set(withExamples.flatMap(examplesOf).map(({ mode }) => mode))].filter((mode) => !['run', 'check'].includes(mode))).toEqual([])
  })

  it.concurrent.each(withExamples)('D44: the programs of %s run without a key and print what they say', async (page) => {
    for (const { code, mode } of examplesOf(page)) {
      if (mode !== 'run') continue
      const said = [...code.matchAll(/\/\/ → (.*)/g)].map(([, line = '']) => line)
      expect(said.length, `a program of ${page} prints something`).toBeGreaterThan(0)
      expect(await printed(code), page).toEqual(said)
    }
  })

  it.each([['modules', installed], ['pages', withReact]])('D44: the types of all programs that are %s are right', (_, app) => {
    const folder = join(app, 'node_modules/.cache/docs')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const examples = withExamples.flatMap((page) => examplesOf(page).map((example, place) => ({ ...example, name: `${page.replaceAll('/', '-')}-${place + 1}` })))
    const own = examples.filter(({ isPage }) => isPage === (app === withReact))
    expect(own.length).toBeGreaterThan(0)
    for (const { name, code, isPage } of own) writeFileSync(join(folder, `${name}.${isPage ? 'tsx' : 'mts'}`), `${code}\nexport {}\n`)
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const compilerOptions = { lib: ['ES2024', 'DOM', 'DOM.Iterable'], jsx: 'react-jsx' }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['*.mts', '*.tsx'] }))
    const compiler = join(createRequire(join(root, 'package.json')).resolve('typescript-7/package.json'), '../bin/tsc')
    const { stdout } = spawnSync(process.execPath, [compiler, '--noEmit', '-p', folder], { cwd: root, encoding: 'utf8' })
    expect(stdout).toBe('')
  })
})
