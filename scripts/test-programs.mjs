// globalSetup of vitest projects whose tests start programs of this repository, and node scripts/test-programs.mjs: bundles the
// programs once per content. A bundled program starts in a third of the CPU time of its several hundred sources.
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { entriesOf } from './tsup-package.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, 'node_modules/.cache/bowline/programs')
const keepMs = 24 * 3600_000

const packages = globSync('packages/*/package.json', { cwd: root }).map((file) => dirname(file))
/** Dependencies that code in texts also imports: it must get the same copy as the bundles. */
const shared = ['ai', 'zod']
/** Inputs of programs. The lockfile stands for the dependencies. */
const inputs = [
  'packages/*/package.json',
  'packages/*/src/**/*.{ts,tsx,json}',
  'packages/*/test/**/*.ts',
  'pnpm-lock.yaml',
  'scripts/test-programs.mjs',
]
/** Programs that no package.json names: those that a worker executor starts, and those of tests. */
const programs = [
  'packages/bridge/src/worker/start-entry.ts',
  'packages/bridge/src/executors/worker/guard.ts',
  'packages/*/test/**/fixtures/*.ts',
]

/** @param {import('vitest/node').TestProject} project */
export default async function setup(project) {
  const folder = await buildPrograms()
  project.provide('programs', folder)
  project.provide('nodeOptions', `--import ${JSON.stringify(join(folder, 'hook.js'))}`)
  // Compile cache for the next start of a program. Test processes and their children inherit this.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled')
}

/**
 * Returns the folder of the bundles. It has the layout of `packages`: `bridge/src/bin/bowline-bridge.js`. Its `hook.js` is for
 * `node --import` and resolves the names of our packages to the bundles.
 */
async function buildPrograms() {
  const files = globSync(inputs, { cwd: root, exclude: (name) => name === 'node_modules' }).sort()
  const folder = join(cache, keyOf(files))
  if (existsSync(folder)) {
    const now = new Date()
    utimesSync(folder, now, now)
    return folder
  }
  const ours = `${folder}.${process.pid}`
  const { metafile } = await bundle(ours)
  const known = new Set(files)
  const unknown = Object.keys(metafile.inputs).filter((file) => !known.has(file) && !isDependency(file))
  if (unknown.length > 0) throw new Error(`The key of the bundles does not cover ${unknown.join(', ')}: add them to inputs`)
  for (const name of packages) copyFileSync(join(root, name, 'package.json'), join(ours, name.slice('packages/'.length), 'package.json'))
  writeFileSync(join(ours, 'hook.js'), hook())
  settle(ours, folder)
  return folder
}

/** @param {readonly string[]} files */
function keyOf(files) {
  const hash = createHash('sha256').update(process.version)
  for (const file of files) hash.update(`\n${file}\n`).update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/** @param {string} outdir */
function bundle(outdir) {
  const exported = packages.flatMap((name) => {
    const manifest = JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8'))
    return Object.values(entriesOf(manifest)).map((source) => join(name, source))
  })
  return build({
    absWorkingDir: root,
    entryPoints: [
      ...[...exported, ...globSync(programs, { cwd: root })].map((file) => ({
        in: file,
        out: relative('packages', file).replace(/\.tsx?$/, ''),
      })),
      ...shared.map((name) => ({ in: name, out: join('dependencies', name) })),
    ],
    outdir,
    // `programFile` of the bridge finds its programs relative to its own chunk.
    chunkNames: 'bridge/src/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // For dependencies that use `require`.
    banner: {
      js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
    },
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'error',
    plugins: [dependencies],
  })
}

/**
 * Keeps optional dependencies that are not installed as imports, and drops the source maps of dependencies, which Node would parse.
 */
const dependencies = {
  name: 'dependencies',
  /** @param {import('esbuild').PluginBuild} build */
  setup({ onLoad, onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
      if (path.startsWith('@bowline/') || path.startsWith('node:') || pluginData === 'asked') return
      if (kind === 'entry-point' && !shared.includes(path)) return
      const from = kind === 'entry-point' ? join(root, 'packages/agent-loop') : resolveDir
      const found = await resolve(path, {
        kind: kind === 'entry-point' ? 'import-statement' : kind,
        resolveDir: from,
        importer,
        pluginData: 'asked',
      })
      return found.errors.length > 0 ? { path, external: true } : found
    })
    // Workers inherit few variables, so the program that starts them enables the compile cache for them.
    onLoad({ filter: /\/bridge\/src\/worker\/start-entry\.ts$/ }, ({ path }) => ({
      contents: `${keepCompiled}\n${readFileSync(path, 'utf8')}`,
      loader: 'ts',
    }))
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => ({
      contents: `${readFileSync(path, 'utf8')}\n${emptyMap}`,
      loader: 'js',
    }))
  },
}

const keepCompiled = `import { enableCompileCache } from 'node:module'; enableCompileCache(import.meta.dirname + '/../../../compiled')`

const emptyMap = `//# sourceMappingURL=data:application/json;base64,${btoa('{"version":3,"sources":[""],"mappings":"A"}')}`

/** @param {string} file */
function isDependency(file) {
  return file.includes('node_modules/')
}

function hook() {
  const names = packages.flatMap((folder) => {
    const { name, exports } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    return Object.entries(exports).map(([path, source]) => [
      join(name, path),
      `./${join(folder.slice('packages/'.length), source.replace(/\.tsx?$/, '.js'))}`,
    ])
  })
  for (const name of shared) names.push([name, `./dependencies/${name}.js`])
  return `import { registerHooks } from 'node:module'
const files = new Map(${JSON.stringify(names)})
registerHooks({
  resolve(name, context, next) {
    const file = files.get(name)
    return file ? { url: new URL(file, import.meta.url).href, shortCircuit: true } : next(name, context)
  },
})
`
}

/**
 * @param {string} ours
 * @param {string} folder
 */
function settle(ours, folder) {
  mkdirSync(cache, { recursive: true })
  try {
    renameSync(ours, folder)
  } catch (error) {
    // Another process has built the same bundles.
    if (!existsSync(folder)) throw error
    rmSync(ours, { recursive: true })
  }
  for (const name of readdirSync(cache)) {
    const other = join(cache, name)
    if (other !== folder && Date.now() - statSync(other).mtimeMs > keepMs) rmSync(other, { recursive: true, force: true })
  }
}

if (import.meta.main) await buildPrograms()
