// node scripts/exec.mjs <program> [...arguments]: sets up the workspace, then runs one of its programs with the Node of the
// workspace. It only needs Node and npm.
import { runInForeground } from './foreground.mjs'
import { ensureInstalled, root, workspaceEnv } from './setup.mjs'

const [program, ...rest] = process.argv.slice(2)
if (program === undefined) {
  console.error('usage: node scripts/exec.mjs <program> [...arguments]')
  process.exit(2)
}

ensureInstalled()
runInForeground(program, rest, { cwd: root, env: workspaceEnv(), shell: process.platform === 'win32' })
