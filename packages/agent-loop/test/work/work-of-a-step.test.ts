import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import type { CountedWork, Work } from './count-work.ts'

type Figure = 'calls' | 'functions' | 'files' | 'promises'

/** Limits for this package, and for the promises of the whole process. A ceiling only falls. */
const ceilings = {
  step: { calls: 541, functions: 287, files: 47, promises: 66 },
  'step with a reader': { calls: 560, functions: 289, files: 48, promises: 84 },
  'first delta': { calls: 351, functions: 228, files: 46, promises: 58 },
  'plain turn': { calls: 628, functions: 327, files: 55, promises: 95 },
  'delta without a reader': { calls: 11, functions: 11, files: 5, promises: 2 },
  'delta with a reader': { calls: 10, functions: 10, files: 5, promises: 4 },
  'delta with ten readers': { calls: 28, functions: 10, files: 5, promises: 22 },
} satisfies Partial<Record<keyof CountedWork['works'], Record<Figure, number>>>

const program = join(import.meta.dirname, './count-work.ts')
const slack = 0.03
const listed = 40

function figureOf({ own, promises }: Work, figure: Figure): number {
  return figure === 'promises' ? promises : own[figure]
}

/** Returns one line per figure that is above its ceiling or too far below it. */
function objectionsTo(work: Work, ceiling: Readonly<Record<Figure, number>>): readonly string[] {
  return Object.entries(ceiling).flatMap(([name, most]) => {
    const count = figureOf(work, name as Figure)
    if (count > most) return [`${count} ${name} are above the ceiling of ${most}: do less`]
    return count < most * (1 - slack)
      ? [`${count} ${name} are well below the ceiling of ${most}: lower the ceiling to ${Math.ceil(count)}`]
      : []
  })
}

function mostCalled({ own: { list } }: Work): readonly string[] {
  return list.slice(0, listed).map(({ calls, file, line, name }) => `${calls} ${file}:${line} ${name}`)
}

describe('the work of an agent without hooks', () => {
  let counted: CountedWork
  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program], { maxBuffer: 2 ** 25 })
    counted = JSON.parse(stdout) as CountedWork
  })

  it('is counted exactly', () => {
    const calls = Object.fromEntries(counted.known.map((each) => [each.name, each.calls]))
    expect(calls).toEqual({ knownCalls: 2, small: 100_000, waiting: 4 })
  })

  it('A170: is as much in a late step as in an early one', () => {
    const { step, 'late step': late } = counted.works
    expect(late).toEqual(step)
  })

  it.each(Object.entries(ceilings))('A170: stays within its budget: %s', (name, ceiling) => {
    const work = counted.works[name as keyof typeof ceilings]
    const objections = objectionsTo(work, ceiling)
    const lines = [
      `${name}:`,
      ...objections,
      `The functions with most calls; for all: node packages/agent-loop/test/work/count-work.ts --list '${name}'`,
      ...mostCalled(work),
    ]
    expect(objections, lines.join('\n')).toEqual([])
  })
})
