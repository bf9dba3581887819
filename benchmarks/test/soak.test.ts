import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { soakProblems, type SoakFigures } from '../src/soak/soak-figures.ts'

const part = { turns: 100, cpuMsPerTurn: 2, heldBytes: 50 * 2 ** 20 }
const good: SoakFigures = {
  parts: [part, part, part, part],
  turns: 400,
  completed: 400,
  sessions: 9,
  notices: 400,
  large: 1_200,
  left: [],
  problems: [],
}
const withLast = (last: Partial<typeof part>): SoakFigures => ({ ...good, parts: [part, part, part, { ...part, ...last }] })

describe('what is judged of a soak', () => {
  it('a soak in which all completed and nothing grew has no problem', () => {
    expect(soakProblems(good)).toEqual([])
    expect(soakProblems(withLast({ heldBytes: 60 * 2 ** 20, cpuMsPerTurn: 2.4 }))).toEqual([])
  })

  it.each([
    ['a turn that did not complete', { ...good, completed: 399 }, '399 of 400 turns'],
    ['a fault', { ...good, problems: ['sweep: away'] }, 'sweep: away'],
    ['a large conversation that did not complete', { ...good, large: 335 }, '335 of 1200 runs'],
    ['memory that grows', withLast({ heldBytes: 65 * 2 ** 20 }), 'what is held grew'],
    ['CPU per turn that grows', withLast({ cpuMsPerTurn: 2.6 }), 'CPU per turn grew'],
  ])('%s is a problem', (_name, figures, text) => {
    expect(soakProblems(figures).join()).toContain(text)
  })

  it('a short soak is judged by its turns only', () => {
    const { large: _large, ...short } = withLast({ heldBytes: 2 ** 30, cpuMsPerTurn: 9 })
    expect(soakProblems(short)).toEqual([])
    expect(soakProblems({ ...short, completed: 1 })).toHaveLength(1)
  })
})

it('a short soak of mixed load on SQLite and Postgres completes all turns, and leaves no handle', async () => {
  const soak = join(import.meta.dirname, '../src/soak.ts')
  // Rejects with what it printed if it exits with an error.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [soak, '0.03'])
  expect(stderr).toBe('')
  for (const store of ['sqlite', 'postgres']) {
    const [, turns, completed] = new RegExp(`\\| ${store} \\| ([\\d,]+) \\| ([\\d,]+) \\|`).exec(stdout) ?? []
    expect(Number(turns?.replaceAll(',', ''))).toBeGreaterThan(50)
    expect(completed).toBe(turns)
  }
})
