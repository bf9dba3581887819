import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { docsPrograms } from '../docs-programs.mjs'
import { bundledFlags } from '../programs.ts'
import { root } from '../setup.mjs'

/** Folder of an app with all packages that the programs import. */
const installed = join(root, 'examples')
const programs = docsPrograms()
const withPrograms = [...new Set(programs.filter(({ mode }) => mode === 'run').map(({ page }) => page))]

/** Returns the lines that the program prints. Its data is in a temporary folder. */
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
  it('has programs, and each block of TypeScript says how it is run, or that it is only checked', () => {
    expect(withPrograms.length).toBeGreaterThan(10)
    const others = programs.filter(({ mode }) => !['run', 'check'].includes(mode))
    // Run by the tests of `packages/postgres` and `packages/redis`.
    expect(others.map(({ page, mode }) => `${page} ${mode}`)).toEqual([
      'docs/guides/postgres.md postgres',
      ...['postgres', 'redis', 'kv'].map((mode) => `docs/guides/stores.md ${mode}`),
    ])
  })

  it.concurrent.each(withPrograms)('D44: the programs of %s run without a key and print the expected output', async (page) => {
    for (const { code, mode } of programs.filter((program) => program.page === page)) {
      if (mode !== 'run') continue
      const said = [...code.matchAll(/\/\/ → (.*)/g)].map(([, line = '']) => line)
      expect(said.length, `a program of ${page} prints something`).toBeGreaterThan(0)
      expect(await printed(code), page).toEqual(said)
    }
  })

  it('D44: the types of programs for a browser are valid (those for Node are checked by the gate `types`)', () => {
    const folder = join(installed, 'node_modules/.cache/docs')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const own = programs.filter(({ isPage }) => isPage)
    expect(own.length).toBeGreaterThan(0)
    for (const { name, code } of own) writeFileSync(join(folder, `${name}.tsx`), `${code}\nexport {}\n`)
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const compilerOptions = { lib: ['ES2024', 'DOM', 'DOM.Iterable'], jsx: 'react-jsx' }
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['*.tsx'] }),
    )
    const compiler = join(createRequire(join(root, 'package.json')).resolve('typescript-7/package.json'), '../bin/tsc')
    const { stdout } = spawnSync(process.execPath, [compiler, '--noEmit', '-p', folder], { cwd: root, encoding: 'utf8' })
    expect(stdout).toBe('')
  })
})
