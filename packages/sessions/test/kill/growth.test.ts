import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { rounds } from '../../../../scripts/test-length.ts'

const cycles = rounds({ short: 2_000, long: 10_000 })
/** 5 MiB per 10,000 cycles. */
const mostBytesPerCycle = (5 * 1024 * 1024) / 10_000

interface Measured {
  readonly cycles: number
  readonly heapBytes: number
}

async function measure(place: string): Promise<readonly Measured[]> {
  const args = ['--expose-gc', ...nodeFlags, program('sessions/test/fixtures/suspending'), place, String(cycles)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const measured: Measured[] = []
  for await (const line of createInterface({ input: child.stdout })) measured.push(JSON.parse(line) as Measured)
  return measured
}

/** Returns the growth of the lowest heap sizes, which contain little garbage. */
function growthPerCycle(measured: readonly Measured[]): number {
  const heap = measured.map((each) => each.heapBytes)
  const between = 0.7 * cycles
  return (Math.min(...heap.slice(-3)) - Math.min(...heap.slice(0, 3))) / between
}

describe(`a session that is suspended and resumed ${cycles} times`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-growth-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  // Both find leaks of the runtime. The database takes twice as long, so only a long run uses it.
  it.each(['memory', 'data.db'].slice(0, rounds({ short: 1, long: 2 })))(
    'S88: leaves nothing in the memory of its process, over %s',
    async (name) => {
      const measured = await measure(name === 'memory' ? name : join(folder, name))
      expect(measured.map((each) => each.cycles)).toEqual(Array.from({ length: 10 }, (_, index) => ((index + 1) * cycles) / 10))
      expect(growthPerCycle(measured)).toBeLessThan(mostBytesPerCycle)
    },
  )
})
