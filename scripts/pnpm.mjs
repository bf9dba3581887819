// node scripts/pnpm.mjs <script> [...arguments]: sets the workspace up, then runs one of its scripts.
import { runInForeground } from './foreground.mjs'
import { ensureInstalled, pnpmArguments, root } from './setup.mjs'

const [script, ...rest] = process.argv.slice(2)
if (script === undefined) {
  console.error('usage: node scripts/pnpm.mjs <script> [...arguments]')
  process.exit(2)
}

ensureInstalled()
// --silent: otherwise pnpm adds a line of its own after the last one of a failed script.
runInForeground('npx', [...pnpmArguments(), '--silent', 'run', script, ...rest], {
  cwd: root,
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
  shell: process.platform === 'win32',
})
