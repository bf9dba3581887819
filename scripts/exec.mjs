// node scripts/exec.mjs <program> [...arguments]: sets the workspace up, then runs a program of it, on its own Node. All that
// it needs is Node and npm.
import { runInForeground } from './foreground.mjs'
import { ensureInstalled, root, workspaceEnv } from './setup.mjs'

const [program, ...rest] = process.argv.slice(2)
if (program === undefined) {
  console.error('usage: node scripts/exec.mjs <program> [...arguments]')
  process.exit(2)
}

ensureInstalled()
runInForeground(program, rest, { cwd: root, env: workspaceEnv(), shell: process.platform === 'win32' })
