// node scripts/pack.mjs: builds the packages that have changed, and packs all of them like for publishing.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { tarballFolder } from './packages.mjs'
import { run } from './run.mjs'
import { ensureInstalled, root, workspaceEnv } from './setup.mjs'

ensureInstalled()
const options = { cwd: root, env: workspaceEnv() }
run('turbo', ['run', 'build', '--output-logs=errors-only'], options)
rmSync(tarballFolder, { recursive: true, force: true })
mkdirSync(tarballFolder, { recursive: true })
run(
  'pnpm',
  ['--recursive', '--filter', './packages/*', '--filter', './apps/studio', 'pack', '--out', join(tarballFolder, '%s.tgz')],
  options,
)
