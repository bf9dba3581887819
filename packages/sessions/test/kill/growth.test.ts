import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, it } from 'vitest'
import { environment, programFile } from './program.ts'

const cycles = 10_000
const mebibyte = 1024 * 1024

interface Measured {
  readonly cycles: number
  readonly heapBytes: number
}

async function measure(place: string): Promise<readonly Measured[]> {
  const args = ['--expose-gc', '--disable-warning=ExperimentalWarning', programFile('suspending'), place, String(cycles)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: environment })
  const measured: Measured[] = []
  for await (const line of createInterface({ input: child.stdout })) measured.push(JSON.parse(line) as Measured)
  return measured
}

// Ten thousand of anything take their time.
describe('a session that is suspended and resumed 10,000 times', { timeout: 300_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-growth-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it.each(['memory', 'data.db'])('S88: leaves nothing in the memory of its process, over %s', async (name) => {
    const measured = await measure(name === 'memory' ? name : join(folder, name))
    expect(measured.map((each) => each.cycles)).toEqual(Array.from({ length: 10 }, (_, index) => ((index + 1) * cycles) / 10))
    const [first = 0, ...later] = measured.map((each) => each.heapBytes)
    expect(Math.max(...later) - first).toBeLessThan(20 * mebibyte)
  })
})
