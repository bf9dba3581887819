// Setup for `npm start`, `npm test` and the other scripts. Plain JavaScript for Node >= 18 without dependencies.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
export const nodeBinary = join(root, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node')

const stampFile = join(root, 'node_modules/.bowline-setup')

/** Returns the environment in which programs of the workspace, including its Node, come before those of the machine. */
export function workspaceEnv() {
  return {
    ...process.env,
    PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH ?? ''}`,
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
    DO_NOT_TRACK: '1',
  }
}

/** Installs the locked dependencies, unless the last installation used the same files. */
export function ensureInstalled() {
  const stamp = installStamp(root)
  if (existsSync(nodeBinary) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  rmSync(stampFile, { force: true })
  // The installer writes to stderr, so that stdout has only our output.
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  // pnpm need not be installed: npx runs the pinned version, and the installation includes it.
  const install = spawnSync('npx', ['--yes', packageManager, 'install', '--frozen-lockfile'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (install.error) throw install.error
  if (install.status !== 0) {
    console.error('The dependencies could not be installed; the lines above say why.')
    process.exit(install.status ?? 1)
  }
  writeFileSync(stampFile, stamp)
}

/**
 * Returns a digest of everything that determines the result of an installation.
 * @param {string} folder the root of the workspace
 */
export function installStamp(folder) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`)
  for (const file of installInputs(folder)) hash.update(file).update(readFileSync(join(folder, file)))
  return hash.digest('hex')
}

/** @param {string} folder */
function installInputs(folder) {
  const members = ['packages', 'apps'].flatMap((group) =>
    readdirSync(join(folder, group), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => `${group}/${entry.name}/package.json`)
      .sort(),
  )
  return ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', 'benchmarks/package.json', 'examples/package.json', ...members].filter(
    (file) => existsSync(join(folder, file)),
  )
}
