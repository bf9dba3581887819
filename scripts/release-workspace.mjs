// Copy of the workspace in which a release can change versions, publish and tag.
import { cpSync, globSync, mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { publishedPackages } from './packages.mjs'
import { root } from './setup.mjs'

/** Files of the workspace that `changeset` and `pnpm publish` read, in addition to the published packages. */
const read = [
  '.changeset',
  'scripts',
  'package.json',
  'pnpm-workspace.yaml',
  'pnpm-lock.yaml',
  'tsconfig.base.json',
  'LICENSE',
  'README.md',
  'docs/*.md',
  'docs/{cookbook,guides}',
  'apps/*/package.json',
  'benchmarks/package.json',
  'examples/package.json',
  'examples/*/package.json',
]

/**
 * Copies the workspace with its built packages. External dependencies are links to the installed ones; those of the workspace are
 * links to the copies.
 *
 * @param {string} folder that is created
 */
export function copyWorkspace(folder) {
  for (const file of globSync(read, { cwd: root })) copy(file, folder)
  for (const published of publishedPackages()) {
    const place = relative(root, published.folder)
    copy(place, folder)
    linkDependencies(join(published.folder, 'node_modules'), join(folder, place, 'node_modules'), folder)
  }
  // A folder of its own, so that nothing that is installed in the copy gets into the repository.
  linkDependencies(join(root, 'node_modules'), join(folder, 'node_modules'), folder)
}

/**
 * @param {string} file relative to the root
 * @param {string} folder
 */
function copy(file, folder) {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  cpSync(join(root, file), join(folder, file), {
    recursive: true,
    filter: (source) => !['node_modules', 'test'].includes(basename(source)),
  })
}

/**
 * @param {string} from
 * @param {string} to
 * @param {string} workspace
 */
function linkDependencies(from, to, workspace) {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from)) {
    if (entry.startsWith('@')) linkDependencies(join(from, entry), join(to, entry), workspace)
    else if (basename(from) === '@bowline') symlinkSync(join(workspace, 'packages', entry), join(to, entry))
    else if (!entry.startsWith('.')) symlinkSync(realpathSync(join(from, entry)), join(to, entry))
  }
}

/**
 * @param {string} folder of a package
 * @returns {{ readonly name: string, readonly version: string } & Record<string, any>}
 */
export function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/**
 * Adds a changeset like a contributor.
 *
 * @param {string} workspace
 * @param {string} name of the package
 * @param {'minor' | 'patch'} bump
 * @param {string} text
 */
export function addChangeset(workspace, name, bump, text) {
  writeFileSync(join(workspace, `.changeset/rehearsal-${bump}.md`), `---\n'${name}': ${bump}\n---\n\n${text}\n`)
}
