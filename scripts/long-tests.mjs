// node scripts/long-tests.mjs [filter...]: the tests with all that they can try, which takes hours. `TEST_SEED` says where random
// tests begin; without it they begin somewhere else each time.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { runInForeground } from './foreground.mjs'
import { root } from './setup.mjs'

const vitest = join(root, 'node_modules', '.bin', 'vitest')
const seed = process.env.TEST_SEED ?? String(randomInt(2, 1_000_000_000))
console.log(`TEST_SEED=${seed}`)
runInForeground(vitest, ['run', '--project', '!demo-e2e', ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, TEST_LENGTH: 'long', TEST_SEED: seed },
  shell: process.platform === 'win32',
})
