import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tarballFolder } from '../../scripts/packages.mjs'
import { peersFolder } from './peers.ts'

const packages = ['llm', 'agent-loop', 'sessions']

/**
 * Installs the Bowline packages into an empty project as users get them. Peer dependencies have the versions of the other
 * contenders.
 */
export function installTarballs(project: string): void {
  const tarballs = packages.map((name) => [`@bowline/${name}`, `file:${tarballOf(name)}`] as const)
  const manifest = { private: true, type: 'module', dependencies: { ...peerVersions(), ...Object.fromEntries(tarballs) } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  // Only the table goes to stdout.
  execFileSync('npm', args, { cwd: project, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' })
}

function tarballOf(name: string): string {
  const file = join(tarballFolder, `bowline-${name}.tgz`)
  if (!existsSync(file)) throw new Error(`@bowline/${name} is not packed. Run node scripts/pack.mjs first.`)
  return file
}

function peerVersions(): Readonly<Record<string, string>> {
  const { dependencies } = JSON.parse(readFileSync(join(peersFolder, 'package.json'), 'utf8')) as {
    readonly dependencies: { readonly ai: string; readonly pg: string; readonly zod: string }
  }
  return { ai: dependencies.ai, pg: dependencies.pg, zod: dependencies.zod }
}
