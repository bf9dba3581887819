// npm run simulate -- [number] [first seed]: runs simulations of several processes on one store, on all cores. It prints each
// failed one as a test. Without a seed each run has a new one.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { exploreSimulations } from '../packages/sessions/test/explorers/simulation/explore-simulations.ts'

const perPart = 250
const [number = 10_000, first = randomInt(1, 1_000_000_000)] = process.argv.slice(2).map(Number)
if (!Number.isSafeInteger(number) || !Number.isSafeInteger(first) || number < 1 || first < 0) {
  console.error('usage: npm run simulate -- [number of simulations] [first seed]')
  process.exit(2)
}

if (process.env['SIMULATE_PART']) await simulateHere()
else await simulateEverywhere()

async function simulateHere() {
  const { failures } = await exploreSimulations({ simulations: number, seed: first })
  for (const { seed, invariant, problems, simulation, trace } of failures)
    console.log([`seed ${seed}: ${invariant}`, ...problems, '', simulation, ...trace, ''].join('\n'))
  if (failures.length > 0) process.exitCode = 1
}

async function simulateEverywhere() {
  console.log(`${number} simulations from seed ${first}`)
  let [next, failed] = [first, 0]
  const end = first + number
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      while (next < end) {
        const from = next
        next = Math.min(end, from + perPart)
        if (!(await part(next - from, from))) failed += 1
      }
    }),
  )
  console.log(failed === 0 ? 'none fails' : `${failed} parts of at most ${perPart} simulations have failures`)
  if (failed > 0) process.exitCode = 1
}

/**
 * Returns whether all simulations of the part pass.
 *
 * @param {number} count
 * @param {number} seed
 * @returns {Promise<boolean>}
 */
function part(count, seed) {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', fileURLToPath(import.meta.url), `${count}`, `${seed}`], {
    stdio: 'inherit',
    env: { ...process.env, SIMULATE_PART: 'yes' },
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}
