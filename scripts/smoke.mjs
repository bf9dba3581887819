// Installs the packed packages into an empty project like a user, and uses them there on a real Node.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { docsPrograms } from './docs-programs.mjs'
import { libraries, publishedPackages } from './packages.mjs'
import { runInWorker } from './run-in-worker.mjs'
import { run } from './run.mjs'
import { nodeBinary, root } from './setup.mjs'

const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
const packages = libraries()
const studio = publishedPackages().filter(({ entries }) => entries.length === 0)
const project = mkdtempSync(join(tmpdir(), 'bowline-smoke-'))
try {
  const manifest = { private: true, type: 'module', dependencies: { ...peers(), ...tarballs(packages) } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest, undefined, 2))
  // npm is a script that uses `node` on PATH: on an older Node of the host it would select older releases of the peers.
  const env = { ...process.env, PATH: `${dirname(nodeBinary)}${delimiter}${process.env.PATH ?? ''}` }
  run('npm', install, { cwd: project, env })
  const entries = packages.flatMap((entry) => entry.entries)
  useInProject(new URL('smoke/without-protocols.mjs', import.meta.url), entries)
  await bundleWithoutProtocols()
  run('npm', [...install, ...Object.entries(optionalPeers()).map(([name, version]) => `${name}@${version}`)], { cwd: project, env })
  useInProject(new URL('smoke/use-packages.mjs', import.meta.url), entries)
  runDocsPrograms()
  // D50: what runs without Node, and what needs its compatible modules.
  await runInWorker(fileURLToPath(new URL('smoke/worker.mjs', import.meta.url)), { project, flags: [] })
  await runInWorker(fileURLToPath(new URL('smoke/worker-sessions.mjs', import.meta.url)), { project, flags: ['nodejs_compat'] })
  // Runs the command like a shell: by its name, with its first line that names the interpreter.
  const version = run(join(project, 'node_modules/.bin/bowline-server'), ['--version'], { cwd: project, env }).trim()
  if (version !== versionOfServer()) throw new Error(`bowline-server says that it is ${version}`)
  // Installs the studio alone and opens it for that server.
  copyFileSync(fileURLToPath(new URL('smoke/use-studio.mjs', import.meta.url)), join(project, 'use-studio.mjs'))
  const alone = join(project, 'studio')
  mkdirSync(alone)
  writeFileSync(join(alone, 'package.json'), JSON.stringify({ private: true, dependencies: tarballs(studio) }))
  run('npm', install, { cwd: alone, env })
  process.stdout.write(run(nodeBinary, ['use-studio.mjs', join(alone, 'node_modules/.bin/bowline-studio')], { cwd: project, env }))
} finally {
  rmSync(project, { recursive: true, force: true })
}

/**
 * @param {URL} file
 * @param {readonly string[]} args
 */
function useInProject(file, args) {
  const name = basename(fileURLToPath(file))
  copyFileSync(file, join(project, name))
  process.stdout.write(run(nodeBinary, [name, ...args], { cwd: project }))
}

/** A bundler finds all that a program without workers and MCP needs. */
async function bundleWithoutProtocols() {
  const contents = "import '@bowline/bridge'\nimport '@bowline/server'"
  const outfile = join(project, 'bundle.mjs')
  await build({ stdin: { contents, resolveDir: project }, bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error' })
  run(nodeBinary, [outfile], { cwd: project })
}

/** D44: runs the programs of the documentation with the packed packages. */
function runDocsPrograms() {
  const programs = docsPrograms().filter(({ mode }) => mode === 'run')
  for (const { name, code } of programs) {
    const file = join(project, `${name}.mts`)
    writeFileSync(file, code.replaceAll('.bowline/', `.bowline/${name}/`))
    const { OPENAI_API_KEY: _key, ...env } = process.env
    const printed = execFileSync(nodeBinary, [file], { cwd: project, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd()
    const expected = [...code.matchAll(/\/\/ → (.*)/g)].map(([, line]) => line).join('\n')
    if (printed !== expected) throw new Error(`The program ${name} must print:\n${expected}\nIt printed:\n${printed}`)
  }
  console.log(`${programs.length} programs of the documentation print the expected output with the packed packages.`)
}

/** @param {readonly import('./packages.mjs').PublishedPackage[]} packages */
function tarballs(packages) {
  return Object.fromEntries(packages.map(({ name, tarball }) => [name, `file:${tarball}`]))
}

function versionOfServer() {
  return JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8')).version
}

/** Returns the peer dependencies in the versions with which this repository is tested. */
function peers() {
  const ofDemo = ['ai', 'zod', '@ai-sdk/anthropic', '@ai-sdk/openai'].map((name) => [name, versionOf(name, 'apps/demo')])
  return {
    ...Object.fromEntries(ofDemo),
    react: versionOf('react', 'apps/studio'),
    '@ai-sdk/react': versionOf('@ai-sdk/react', 'examples'),
  }
}

/** Returns the packages that only some programs install: with workers or MCP, or tests of a store. */
function optionalPeers() {
  const protocols = ['@agentclientprotocol/sdk', '@modelcontextprotocol/node', '@modelcontextprotocol/server']
  return {
    ...Object.fromEntries(protocols.map((name) => [name, versionOf(name, 'packages/bridge')])),
    'fast-check': versionOf('fast-check', 'packages/testing'),
  }
}

/**
 * @param {string} name
 * @param {string} user folder of the package that uses it
 */
function versionOf(name, user) {
  const manifest = join(root, user, 'node_modules', name, 'package.json')
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}
