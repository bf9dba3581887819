// Checks the tarballs as users get them: publint reads them, attw resolves their types, and their files and the licences of their
// dependencies are checked.
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { libraries, publishedPackages } from './packages.mjs'
import { run } from './run.mjs'
import { root } from './setup.mjs'

/** Permissive licences. If a package offers several, one of them is enough. */
const licences = new Set(['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC', 'MIT', 'Unlicense'])

/**
 * Optional packages that the users of an entry install.
 *
 * @type {Readonly<Record<string, readonly string[]>>}
 */
const needs = {
  '@bowline/bridge/internal': ['@modelcontextprotocol/server'],
  '@bowline/bridge/mcp': ['@modelcontextprotocol/server'],
  '@bowline/client/chat': ['ai'],
  '@bowline/client/react': ['react'],
  '@bowline/testing': ['fast-check'],
}

/** Characters of all pages of one package. */
const maxDocs = 250_000

/** Files of every package. */
const common = ['LICENSE', 'README.md']
/** Files of packages that code imports. */
const ofLibrary = [...common, 'dist/index.js', 'dist/index.d.ts', 'docs/llms.txt', 'docs/quick-start.md', 'src/index.ts']
/** The page of the studio contains libraries. This file has the text of their licences. */
const studioLicences = 'dist/package/page/licenses.md'
const ofStudio = [...common, 'dist/package/bin.js', 'dist/package/page/index.html', studioLicences]

const packages = publishedPackages()
const typed = new Set(libraries().map(({ name }) => name))
const folder = mkdtempSync(join(tmpdir(), 'bowline-tarballs-'))
try {
  const failures = [
    ...packages.flatMap(({ name, tarball }) => [
      ...failureOf(name, 'publint', ['run', tarball, '--strict']),
      ...(typed.has(name) ? failureOf(name, 'attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-definitely-typed']) : []),
      ...badFiles(unpack(name, tarball), typed.has(name) ? ofLibrary : ofStudio).map((failure) => `${name}: ${failure}`),
    ]),
    ...badLicences(),
  ]
  for (const failure of failures) console.error(failure)
  process.exitCode = failures.length > 0 ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/**
 * @param {string} name
 * @param {string} tool
 * @param {readonly string[]} args
 * @returns {string[]}
 */
function failureOf(name, tool, args) {
  try {
    run(tool, args)
    return []
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`]
  }
}

/**
 * Returns the folder with the files of a tarball.
 *
 * @param {string} name
 * @param {string} tarball
 */
function unpack(name, tarball) {
  const to = join(folder, name)
  mkdirSync(to, { recursive: true })
  run('tar', ['-xzf', tarball, '-C', to])
  return join(to, 'package')
}

/**
 * @param {string} unpacked
 * @param {readonly string[]} needed
 * @returns {string[]} what a tarball lacks or should not hold
 */
function badFiles(unpacked, needed) {
  const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'))
  const files = globSync('**/*.*', { cwd: unpacked }).map((file) => file.replaceAll('\\', '/'))
  // A package gets its CHANGELOG with its first version.
  const wanted = [...needed, ...(manifest.version === '0.0.0' ? [] : ['CHANGELOG.md'])]
  return [
    ...wanted.filter((file) => !existsSync(join(unpacked, file))).map((file) => `${file} is missing`),
    ...files.filter((file) => /\.test(-d)?\.|(^|\/)(test|fixtures|node_modules)\//.test(file)).map((file) => `${file} is for tests only`),
    ...['keywords', 'homepage', 'bugs', 'repository', 'license', 'engines']
      .filter((field) => manifest[field] === undefined)
      .map((field) => `package.json has no ${field}`),
    ...['preinstall', 'install', 'postinstall']
      .filter((script) => manifest.scripts?.[script])
      .map((script) => `its install runs the script ${script}`),
    ...(/"(workspace|catalog):/.test(JSON.stringify(manifest)) ? ['package.json has a workspace or catalog range'] : []),
    ...files.filter((file) => file.endsWith('.map')).flatMap((file) => badMap(unpacked, file)),
    ...(typed.has(manifest.name) ? badTypes(unpacked, manifest) : []),
    ...badDocs(
      unpacked,
      files.filter((file) => file.startsWith('docs/')),
    ),
  ]
}

/**
 * Types of an entry come from packages that every user installs, or from those that this entry needs anyway.
 *
 * @param {string} unpacked
 * @param {{ name: string, exports: Record<string, { types: string }>, peerDependenciesMeta?: object }} manifest
 */
function badTypes(unpacked, { name, exports, peerDependenciesMeta = {} }) {
  return Object.entries(exports).flatMap(([subpath, { types }]) => {
    const entry = posix.join(name, subpath)
    const imported = packagesOfTypes(join(unpacked, types))
    const optional = Object.keys(peerDependenciesMeta).filter((peer) => imported.has(peer) && !needs[entry]?.includes(peer))
    return optional.map((peer) => `the types of ${entry} need the optional package ${peer}`)
  })
}

/**
 * @param {string} file
 * @param {Set<string>} seen
 * @returns {Set<string>} packages that the declarations import, and those that they lead to
 */
function packagesOfTypes(file, seen = new Set()) {
  if (seen.has(file)) return new Set()
  seen.add(file)
  const specifiers = [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()["']([^"']+)["']/g)].map(([, specifier = '']) => specifier)
  return new Set(
    specifiers.flatMap((specifier) => {
      if (specifier.startsWith('.')) return [...packagesOfTypes(join(dirname(file), specifier.replace(/\.js$/, '.d.ts')), seen)]
      return [/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier]
    }),
  )
}

/**
 * Pages are small and lead to files of the tarball or to other hosts.
 *
 * @param {string} unpacked
 * @param {readonly string[]} files
 */
function badDocs(unpacked, files) {
  const texts = files.map((file) => ({ file, text: readFileSync(join(unpacked, file), 'utf8') }))
  const size = texts.reduce((sum, { text }) => sum + text.length, 0)
  const links = texts.flatMap(({ file, text }) =>
    [...text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => ({ file, href })),
  )
  const dead = links.filter(
    ({ file, href }) => !/^[a-z]+:|^#/.test(href) && !existsSync(join(unpacked, dirname(file), href.replace(/#.*/, ''))),
  )
  return [
    ...(size > maxDocs ? [`docs have ${size} characters, more than ${maxDocs}`] : []),
    ...dead.map(({ file, href }) => `${file} links to ${href}`),
  ]
}

/**
 * Returns the faults of a source map. It must name files of the tarball and must not contain their text.
 *
 * @param {string} unpacked
 * @param {string} file
 */
function badMap(unpacked, file) {
  const map = JSON.parse(readFileSync(join(unpacked, file), 'utf8'))
  const sources = map.sources.map((/** @type {string} */ source) => posix.join(dirname(file), source))
  return [
    ...(map.sourcesContent === undefined ? [] : [`${file} repeats the text of its sources`]),
    ...sources
      .filter((/** @type {string} */ source) => !existsSync(join(unpacked, source)))
      .map((/** @type {string} */ source) => `${file} names ${source}, which the tarball does not hold`),
  ]
}

/** @returns {string[]} packages with another licence that an installation of ours includes, or the page of the studio */
function badLicences() {
  const filters = ['--filter', './packages/*', '--filter', './apps/studio']
  /** @type {Record<string, { name: string }[]>} */
  const listed = JSON.parse(run('pnpm', ['licenses', 'list', '--prod', '--json', ...filters], { cwd: root }))
  const installed = Object.entries(listed).flatMap(([licence, found]) => found.map(({ name }) => ({ name, licence })))
  const bundled = [...readFileSync(join(root, 'apps/studio', studioLicences), 'utf8').matchAll(/^## (\S+) - \S+(?: \((.+)\))?$/gm)]
  return [...installed, ...bundled.map(([, name, licence = 'unknown']) => ({ name, licence }))]
    .filter(
      ({ licence }) =>
        !licence
          .replace(/[()]/g, '')
          .split(' OR ')
          .some((one) => licences.has(one)),
    )
    .map(({ name, licence }) => `${name} has the licence ${licence}`)
}
