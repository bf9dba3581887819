// node scripts/long-tests.mjs [filter...]: runs the tests with all their random cases, which takes hours. `TEST_SEED` sets the seed
// of random tests; without it each run has a new seed.
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
