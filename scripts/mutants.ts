// node scripts/mutants.ts [area...] [--sample=30] [--seed=1] [--floor=85] [--verbose]: adds faults to a copy of the safety-critical
// sources, and counts those that the tests detect.
import { parseArgs } from 'node:util'
import { areas } from './mutants/areas.ts'
import { equivalents } from './mutants/equivalents.ts'
import { describeMutant, runArea, type AreaResult } from './mutants/run-area.ts'
import { copyTree, removeTree } from './mutants/tree-copy.ts'
import { root } from './setup.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    floor: { type: 'string', default: '85' },
    verbose: { type: 'boolean', default: false },
  },
})

const names = areas.map(({ name }) => name)
const strangers = positionals.filter((name) => !names.includes(name))
if (strangers.length > 0) fail(`No such area: ${strangers.join(', ')}. There are: ${names.join(', ')}.`)
const [sampleSize, seed, floor] = [numberOf('sample'), numberOf('seed'), numberOf('floor')]

const copy = copyTree(root)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
process.once('exit', () => removeTree(copy))

console.log(`Up to ${sampleSize} mistakes per area, seed ${seed}, floor ${floor} %.`)
const low: string[] = []
for (const area of areas) {
  if (positionals.length > 0 && !positionals.includes(area.name)) continue
  const print = (line: string): void => void (values.verbose && console.log(`  ${line}`))
  try {
    const result = await runArea(area, { root: copy, sampleSize, seed, equivalents, print })
    console.log(lineOf(result))
    for (const mutant of result.unnoticed) console.log(`  unnoticed: ${describeMutant(mutant)}`)
    if (shareOf(result) < floor) low.push(area.name)
  } catch (error) {
    console.log(`${area.name}: ${error instanceof Error ? error.message : String(error)}`)
    low.push(area.name)
  }
}
if (low.length > 0) fail(`Not at ${floor} %: ${low.join(', ')}. Run again with --seed=${seed}.`)
process.exit(0)

function lineOf(result: AreaResult): string {
  const { name, possible, planted, noticed } = result
  return `${name}: ${noticed} of ${planted} noticed (${shareOf(result).toFixed(0)} %); ${possible} possible`
}

function shareOf({ planted, noticed }: AreaResult): number {
  return planted === 0 ? 100 : (100 * noticed) / planted
}

function numberOf(name: 'sample' | 'seed' | 'floor'): number {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 0) fail(`--${name} must be a whole number from 0 on, not "${values[name]}".`)
  return value
}

function fail(message: string): never {
  console.error(message)
  process.exit(1)
}
