import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { root } from './setup.mjs'

/**
 * Program in a page of the documentation.
 *
 * @typedef {object} DocsProgram
 * @property {string} page path of the page from the root
 * @property {string} name of its file: page and place
 * @property {string} code
 * @property {string} mode word after the language: programs with `check` are not run, because they need resources that tests lack.
 *   Programs with `postgres`, `redis` or `kv` are run by a test of the package of the store, which starts the server
 * @property {boolean} isPage whether it is for a browser (`tsx`)
 */

/** @returns {readonly DocsProgram[]} TypeScript blocks of all pages, in order */
export function docsPrograms() {
  const pages = globSync(['docs/*.md', 'docs/cookbook/*.md', 'docs/guides/*.md'], { cwd: root }).filter(
    (page) => basename(page) !== 'mutants.md',
  )
  return pages.sort().flatMap((page) => {
    const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts(x?)(?: (\w+))?\n([\s\S]*?)^```/gm)]
    return blocks.map(([, x, mode = x ? 'check' : 'run', code = ''], place) => ({
      page,
      code,
      mode,
      isPage: x === 'x',
      name: `${page.replace(/\.md$/, '').replaceAll('/', '-')}-${place + 1}`,
    }))
  })
}

/**
 * Writes the programs that run on Node to a folder of the examples, which have all packages that they import. `tsconfig.json`
 * includes it.
 */
export function writeDocsPrograms() {
  const folder = join(root, 'examples/.docs')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { name, code, isPage } of docsPrograms()) if (!isPage) writeFileSync(join(folder, `${name}.mts`), `${code}\nexport {}\n`)
}
