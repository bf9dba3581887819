// Run by `pnpm pack` in the folder of a package: writes its `docs`, the pages of the documentation that speak of it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { firstSentenceOf, sectionsOf, textOf } from './pages.mjs'
import { root } from './setup.mjs'

/** @typedef {import('./pages.mjs').Page} Page */

/** Pages for users of every package. */
const common = ['docs/quick-start.md', 'docs/concepts.md']

/**
 * The files of the folder `docs` of a package, by their place in it. A page belongs to a package if it names it. A page with a section
 * for each package is cut to that section. Links to pages that the package does not carry lead to the repository.
 *
 * @param {string} name of the package, without the scope
 * @param {string} [folder] the root of the repository
 * @returns {Record<string, string>}
 */
export function packageDocs(name, folder = root) {
  const own = sectionsOf(folder)
    .map(({ title, isOptional, pages }) => ({ title, pages: isOptional ? [] : pages.filter((page) => speaksOf(name, page, folder)) }))
    .filter(({ pages }) => pages.length > 0)
  const pages = own.flatMap((section) => section.pages)
  const carried = new Map(pages.map(({ file }) => [file, placeOf(file)]))
  carried.set(`packages/${name}/README.md`, '../README.md')
  const { homepage } = JSON.parse(textOf(`packages/${name}/package.json`, folder))
  const repository = homepage.replace(/\/tree\/.*/, '')
  /** @param {Page} page */
  const line = ({ file, title }) => `- [${title}](${placeOf(file)}): ${firstSentenceOf(textOf(file, folder))}\n`
  return {
    ...Object.fromEntries(
      pages.map(({ file }) => [placeOf(file), withLinks(sectionOf(name, textOf(file, folder)), { file, carried, repository })]),
    ),
    'llms.txt': [
      `# @bowline/${name}\n\n> ${firstSentenceOf(textOf(`packages/${name}/README.md`, folder))}\n`,
      ...own.map(({ title, pages: listed }) => `## ${title}\n\n${listed.map(line).join('')}`),
    ].join('\n'),
  }
}

/**
 * @param {string} name
 * @param {Page} page
 * @param {string} folder
 */
function speaksOf(name, { file }, folder) {
  if (!file.startsWith('docs/')) return false
  // Most examples install all packages, define an agent and have a scripted model.
  const text = textOf(file, folder).replaceAll(
    /^(?:npm install|import \{ (?:scriptedModel|defineAgent|defineAgent, defineTool) \}) .*/gm,
    '',
  )
  return common.includes(file) || new RegExp(`@bowline/${name}(?![\\w-])`).test(text)
}

/** @param {string} file */
function placeOf(file) {
  return posix.relative('docs', file)
}

/**
 * @param {string} name
 * @param {string} text
 */
function sectionOf(name, text) {
  const [intro = '', ...sections] = text.split(/^(?=## @bowline\/)/m)
  return intro + sections.filter((section) => section.startsWith(`## @bowline/${name}\n`)).join('')
}

/**
 * @param {string} text
 * @param {{ file: string, carried: ReadonlyMap<string, string>, repository: string }} from
 */
function withLinks(text, { file, carried, repository }) {
  // Code stays as it is.
  return text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`|\]\(([^)\s]+)\)/gm, (whole, href) =>
    href === undefined ? whole : `](${linkTo(href)})`,
  )

  /** @param {string} href */
  function linkTo(href) {
    if (/^[a-z]+:|^#/i.test(href)) return href
    const [path = '', anchor] = href.split('#')
    const target = posix.join(posix.dirname(file), path)
    const place = carried.get(target)
    const to = place === undefined ? `${repository}/blob/main/${target}` : posix.relative(posix.dirname(placeOf(file)), place)
    return anchor === undefined ? to : `${to}#${anchor}`
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const docs = join(process.cwd(), 'docs')
  rmSync(docs, { recursive: true, force: true })
  for (const [place, text] of Object.entries(packageDocs(basename(process.cwd())))) {
    mkdirSync(dirname(join(docs, place)), { recursive: true })
    writeFileSync(join(docs, place), text)
  }
}
