import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../programs.ts'

interface Manifest {
  readonly name: string
  readonly engines: { readonly node: string }
  readonly exports: Readonly<Record<string, string>>
}

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifestOf = (folder: string) => JSON.parse(read(join(folder, 'package.json'))) as Manifest
const libraries = readdirSync(join(root, 'packages')).map((name) => ({
  folder: `packages/${name}`,
  manifest: manifestOf(`packages/${name}`),
}))
const packages = [...libraries, { folder: 'apps/studio', manifest: manifestOf('apps/studio') }]
const readmes = ['README.md', ...packages.map(({ folder }) => `${folder}/README.md`)]

/** Returns the code blocks of a README. */
function examplesOf(text: string): readonly string[] {
  return [...text.matchAll(/^```(?:tsx?|m?js)\b[^\n]*\n([\s\S]*?)^```/gm)].map(([, code = '']) => code)
}

/** Returns the local name in an import or export list: without `type` and without the name before `as`. */
function bare(listed: string): string {
  return (
    listed
      .trim()
      .replace(/^type /, '')
      .split(' as ')
      .at(-1) ?? ''
  )
}

function importsOf(code: string): readonly { readonly names: readonly string[]; readonly from: string }[] {
  return [...code.matchAll(/^import (?:type )?(?:\{([^}]*)\}|[^'{]*)(?: from )?'([^']+)'/gm)].map(([, names = '', from = '']) => {
    return {
      names: names
        .split(',')
        .map(bare)
        .filter((name) => name !== ''),
      from,
    }
  })
}

/** Returns the package to install for an import. Returns undefined for Node built-ins and files. */
function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier)) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function installedBy(text: string): ReadonlySet<string> {
  const lines = [...text.matchAll(/npm install ([^\n`]*)/g)].map(([, names = '']) => names.split(' '))
  return new Set(lines.flat().filter((name) => !name.startsWith('-')))
}

/** Modules that export a value or type, by its name. */
const exporters = new Map<string, string[]>()
for (const { folder, manifest } of libraries) {
  for (const [subpath, file] of Object.entries(manifest.exports)) {
    for (const [, names = ''] of read(join(folder, file)).matchAll(
      /^export (?:(?:type )?\{|(?:async )?(?:function|const|class|interface|type) )([\w$,\s]*)/gm,
    )) {
      for (const name of names.split(',').map(bare)) {
        if (name !== '') exporters.set(name, [...(exporters.get(name) ?? []), join(manifest.name, subpath)])
      }
    }
  }
}

/** Returns the called exports of these packages that the example does not import. */
function missingImports(code: string): readonly string[] {
  const imported = new Set(importsOf(code).flatMap(({ names }) => names))
  const called = [...code.replaceAll(/ *\/\/ .*/g, '').matchAll(/(?<![.\w])([A-Za-z]\w*)\(/g)].map(([, name = '']) => name)
  return [...new Set(called)].filter(
    (name) => exporters.has(name) && !imported.has(name) && !new RegExp(`(?:const|function) ${name}\\b`).test(code),
  )
}

describe.each(readmes)('%s', (path) => {
  const text = read(path)
  const examples = examplesOf(text)

  it('its install lines include everything that its examples import', () => {
    const needed = examples.flatMap(importsOf).flatMap(({ from }) => packageOf(from) ?? [])
    expect([...new Set(needed)].filter((name) => !installedBy(text).has(name))).toEqual([])
  })

  it('its examples import only names that the package exports, from the right entry', () => {
    expect(examples.flatMap(missingImports)).toEqual([])
    const wrong = examples
      .flatMap(importsOf)
      .flatMap(({ names, from }) =>
        from.startsWith('@bowline/') ? names.filter((name) => exporters.get(name)?.includes(from) !== true) : [],
      )
    expect(wrong).toEqual([])
  })
})

describe('the READMEs of the packages', () => {
  it.each(packages)('$folder has 300 to 600 words, code included, and special topics are on a page of `docs/`', ({ folder }) => {
    const words = read(`${folder}/README.md`)
      .split(/\s+/)
      .filter((word) => word !== '').length
    expect(words).toBeGreaterThanOrEqual(300)
    expect(words).toBeLessThanOrEqual(600)
  })

  it.each(packages)('$folder links files outside the package by addresses that work on npm too', ({ folder }) => {
    const links = [...read(`${folder}/README.md`).matchAll(/\]\(([^)]+)\)/g)].map(([, href = '']) => href)
    expect(links.length).toBeGreaterThan(3)
    expect(links.filter((href) => !href.startsWith('https://') && !href.startsWith('#'))).toEqual([])
  })
})

describe('the versions of Node', () => {
  const plain = (path: string) => read(path).replaceAll(/\s+/g, ' ')
  const leastOf = (folder: string) => manifestOf(folder).engines.node.replace('>=', '')
  const published = [...new Set(packages.map(({ folder }) => leastOf(folder)))]

  it('all packages need the same one, and each README names it', () => {
    expect(published).toHaveLength(1)
    for (const { folder } of packages) expect(plain(`${folder}/README.md`)).toContain(`Node ${published[0]} or later`)
  })

  it('the root README names the versions for its commands and for the packages', () => {
    expect(plain('README.md')).toContain(`need git, Node ${leastOf('.')} or later and npm`)
    expect(plain('README.md')).toContain(`The published packages need Node ${published[0]} or later`)
    expect(plain('CONTRIBUTING.md')).toContain(`Node ${leastOf('.')} or later and npm`)
  })
})

describe('a first example without a key', () => {
  const withModel = readmes.filter((path) => examplesOf(read(path))[0]?.includes(`from '@ai-sdk/openai'`))

  it('exists for every package that shows a real model', () => {
    expect(withModel).toEqual(['README.md', 'packages/agent-loop/README.md', 'packages/llm/README.md'])
  })

  it.each(withModel)('of %s says that the key is missing, and fails', (path) => {
    const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
    try {
      const code = (examplesOf(read(path))[0] ?? '').replace('.bowline/', `${data}/`)
      const { OPENAI_API_KEY: _key, ...env } = process.env
      const args = [...bundledFlags(), '--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', code]
      // This folder has all packages that the examples use.
      const run = spawnSync(process.execPath, args, { cwd: join(root, 'apps/demo'), env, encoding: 'utf8' })
      expect(run.stderr).toMatch(/Error: .*OPENAI_API_KEY/)
      expect(run.stdout).not.toContain('tokens')
      expect(run.status).toBe(1)
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  })
})
