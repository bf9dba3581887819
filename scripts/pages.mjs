import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/**
 * @typedef {object} Page
 * @property {string} file relative to the root of the repository
 * @property {string} route its address on the site, without an extension: `guides/memory`
 * @property {string} title the first heading
 *
 * @typedef {object} Section
 * @property {string} title
 * @property {boolean} isOptional readers with little room leave it out
 * @property {readonly Page[]} pages
 */

/** @param {string} name */
const guide = (name) => `docs/guides/${name}.md`

/** Pages in reading order. A pattern adds the files that no other line lists. A file that does not exist is left out. */
const contents = [
  { title: 'Start', files: ['README.md', 'docs/quick-start.md', 'docs/concepts.md', 'docs/architecture.md'] },
  { title: 'Promises', files: ['docs/guarantees.md', 'docs/crash.md', 'docs/limits.md', 'docs/performance.md'] },
  {
    title: 'Agents',
    files: ['models', 'tools', 'turns', 'extensions', 'subagents', 'streams']
      .map(guide)
      .concat('docs/prompts-and-caching.md', 'docs/testing.md'),
  },
  {
    title: 'Sessions',
    files: ['sessions', 'recovery', 'time', 'stores', 'postgres', 'restate', 'memory', 'orchestration', 'webhooks', 'requests'].map(guide),
  },
  { title: 'Bridge, server, client', files: ['delegation', 'mcp', 'server', 'auth', 'rate-limits', 'client', 'admin', '*'].map(guide) },
  { title: 'Operation', files: ['docs/deploy.md', 'docs/operations.md', 'docs/migration.md'] },
  { title: 'Cookbook', files: ['docs/cookbook/*.md', 'examples/README.md', 'examples/*/README.md'] },
  { title: 'Reference', files: ['docs/options.md', 'docs/events.md', 'docs/errors.md'] },
  {
    title: 'Packages',
    files: ['llm', 'agent-loop', 'sessions', 'postgres', 'redis', 'restate', 'bridge', 'server', 'client', 'testing', '*']
      .map((name) => `packages/${name}/README.md`)
      .concat('packages/testing/TESTING.md', 'apps/*/README.md'),
  },
  {
    title: 'Project',
    files: [
      'CONTRIBUTING.md',
      'packages/sessions/test/explorers/README.md',
      'SECURITY.md',
      'CODE_OF_CONDUCT.md',
      'docs/mutants.md',
      'benchmarks/results.md',
    ],
    isOptional: true,
  },
  { title: 'Decisions', files: ['docs/decisions/*.md'], isOptional: true },
]

/**
 * Returns the sections of the documentation in the folder.
 *
 * @param {string} [folder] the root of the repository
 * @returns {Section[]} the sections that have pages
 */
export function sectionsOf(folder = root) {
  const listed = new Set(contents.flatMap(({ files }) => files))
  /** @param {string} file */
  const matches = (file) => {
    if (!file.includes('*')) return existsSync(join(folder, file)) ? [file] : []
    return globSync(file, { cwd: folder })
      .filter((match) => !listed.has(match))
      .sort()
  }
  return contents
    .map(({ title, files, isOptional = false }) => ({
      title,
      isOptional,
      pages: files.flatMap(matches).map((file) => ({ file, route: routeOf(file), title: titleOf(textOf(file, folder)) })),
    }))
    .filter(({ pages }) => pages.length > 0)
}

/**
 * @param {string} file
 * @param {string} [folder]
 */
export function textOf(file, folder = root) {
  return readFileSync(join(folder, file), 'utf8')
}

/** @param {string} file */
function routeOf(file) {
  if (file === 'README.md') return 'index'
  return file
    .replace(/^docs\//, '')
    .replace(/\/README\.md$|\.md$/, '')
    .toLowerCase()
}

/** @param {string} text */
function titleOf(text) {
  return plain(/^# (.+)$/m.exec(text)?.[1] ?? '')
}

/**
 * Returns the first sentence of the first paragraph. Empty if the page begins with something else.
 *
 * @param {string} text
 */
export function firstSentenceOf(text) {
  const [, ...blocks] = text.slice(Math.max(0, text.search(/^# /m))).split(/\n\s*\n/)
  const paragraph = blocks.find((block) => /^(?!```)[\p{L}`*[]/u.test(block)) ?? ''
  return plain(paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?])\s+(?=[\p{Lu}`*[])/u, 1)[0] ?? '').replace(/:$/, '.')
}

/**
 * Returns Markdown without links and emphasis. Code keeps its marks.
 *
 * @param {string} text
 */
function plain(text) {
  return text
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .trim()
}
