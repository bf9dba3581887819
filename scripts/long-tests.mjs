// node scripts/long-tests.mjs: the tests that are worth more time than a change has.
import { join } from 'node:path'
import { runInForeground } from './foreground.mjs'
import { root } from './setup.mjs'

const vitest = join(root, 'node_modules', '.bin', 'vitest')
const stores = ['memory', 'file', 'sqlite'].map((store) => `packages/sessions/test/programs/${store}.test.ts`)
runInForeground(vitest, ['run', '--project', 'sessions', ...stores], {
  cwd: root,
  env: { PROGRAMS: '100000', ...process.env },
  shell: process.platform === 'win32',
})
