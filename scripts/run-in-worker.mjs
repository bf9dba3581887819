// Bundles a program of an installed project as bundlers do for Cloudflare Workers, and runs its test in workerd.
import { copyFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { run } from './run.mjs'

/** Optional peers: whoever installs one bundles it too. */
const notInstalled = ['pg', 'redis', '@upstash/redis', '@modelcontextprotocol/server']

/**
 * Throws if the program does not bundle, does not load, or its test fails. All its requests come back to itself: there is no network.
 *
 * @param {string} file of the program; its default export has `fetch` and `test`
 * @param {{ project: string, flags: readonly string[] }} options where the packages are installed; compatibility flags of the worker
 */
export async function runInWorker(file, { project, flags }) {
  const program = join(project, basename(file))
  copyFileSync(file, program)
  const { metafile } = await build({
    entryPoints: [program],
    outfile: join(project, 'worker/bundle.mjs'),
    bundle: true,
    format: 'esm',
    metafile: true,
    logLevel: 'silent',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*', ...notInstalled],
  })
  const builtins = Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports.map(({ path }) => path))
    .filter((path) => path.startsWith('node:'))
  if (flags.length === 0 && builtins.length > 0) throw new Error(`${basename(file)} needs ${[...new Set(builtins)].join(', ')}`)
  const config = join(project, 'worker/config.capnp')
  writeFileSync(config, configOf(flags))
  run('workerd', ['test', config])
}

/** @param {readonly string[]} flags */
function configOf(flags) {
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .main)]);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "bundle.mjs")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = [${flags.map((flag) => `"${flag}"`).join(', ')}],
  globalOutbound = "main",
);
`
}
