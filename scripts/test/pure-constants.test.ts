import { build } from 'esbuild'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { markConstants, pureConstants } from '../pure-constants.mjs'

describe('D49: builds free of side effects', () => {
  it.each([
    ['a call', 'export const other = make()'],
    ['a call of a method', 'const list = checks.list()\nexport const read = () => list'],
    ['a new object', 'export const other = new Other()'],
    ['a property of an object', 'export const other = { check: checks.text }'],
    ['a spread', 'export const other = [...make(), 1]'],
    ['a tagged template', 'export const other = String.raw`\\d${make()}`'],
    ['a pattern', 'export const { text, number: whole } = checks'],
    ['a variable', 'let used = checks.length\nexport const use = () => used++'],
    ['two in one statement', 'export const first = make(), second = checks.second'],
  ])('drops %s if unused', async (_, unused) => {
    expect(await bundled(unused)).not.toMatch(/make|checks|Other/)
  })

  it('keeps the values', async () => {
    const text = `const checks = { text: 'a', number: 2 }
export const { text, number: whole } = checks
export let joined = [...text, whole]
export const waited = await Promise.resolve(3) // a comment at the end`
    const module = (await import(`data:text/javascript,${encodeURIComponent(markConstants('kept.ts', text))}`)) as object
    expect({ ...module }).toEqual({ text: 'a', whole: 2, joined: ['a', 2], waited: 3 })
  })

  it('keeps every line in its place, and the insides of functions', () => {
    const text = 'export const other = make(\n  1,\n)\nexport function twice() {\n  const inner = make(2)\n  return inner\n}\n'
    const marked = markConstants('lines.ts', text)
    expect(marked).toContain('other = /* @__PURE__ */')
    expect(marked.split('\n').slice(3)).toEqual(text.split('\n').slice(3))
  })

  it('keeps statements with an effect', async () => {
    expect(await bundled('make()')).toContain('make()')
  })

  it('refuses a pattern that it cannot split', () => {
    expect(() => markConstants('rest.ts', 'export const { text, ...rest } = checks')).toThrow(
      'A top-level pattern of checks must hold names only',
    )
  })
})

/** Returns the bundle of an import of `wanted`, from a built file that also exports `unused`. */
async function bundled(unused: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-pure-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'src'))
  const source = join(folder, 'src/index.ts')
  const built = join(folder, 'built.js')
  writeFileSync(source, `declare const checks: any, make: any, Other: any\n${unused}\nexport const wanted = 1`)
  await build({ entryPoints: [source], outfile: built, format: 'esm', bundle: true, plugins: [pureConstants] })
  const stdin = { contents: "import { wanted } from './built.js'\nconsole.log(wanted)", resolveDir: folder }
  const { outputFiles } = await build({ stdin, bundle: true, format: 'esm', write: false, minify: true })
  return outputFiles[0]?.text ?? ''
}
