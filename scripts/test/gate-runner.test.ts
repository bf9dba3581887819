import { describe, expect, it } from 'vitest'
import { countsOf, runGates, summaryLine } from '../gate-runner.mjs'

type Gate = Parameters<typeof runGates>[0][number]

function harness(outcomes: Record<string, { code: number; output: string }> = {}) {
  const started: string[] = []
  const beside: string[][] = []
  const running = new Set<string>()
  const printed: string[] = []
  return {
    started,
    beside,
    printed,
    options: {
      wanted: [] as string[],
      lanes: 2,
      now: () => 0,
      print: (text: string) => printed.push(text),
      execute: async (gate: Gate) => {
        running.add(gate.name)
        started.push(gate.name)
        beside.push([...running])
        await Promise.resolve()
        running.delete(gate.name)
        return outcomes[gate.name] ?? { code: 0, output: '' }
      },
    },
  }
}

const gate = (name: string, more: Partial<Gate> = {}): Gate => ({ name, command: `do ${name}`, ...more })

describe('counting', () => {
  it('reads the counts from the last line of a test run', () => {
    expect(countsOf({ code: 0, output: 'noise\n12 passed, 0 failed, 3 skipped\n' })).toEqual({ passed: 12, failed: 0, skipped: 3 })
  })

  it('counts a gate without a summary as one', () => {
    expect(countsOf({ code: 0, output: 'fine' })).toEqual({ passed: 1, failed: 0, skipped: 0 })
    expect(countsOf({ code: 2, output: '' })).toEqual({ passed: 0, failed: 1, skipped: 0 })
  })

  it('counts a run that fails without a failed test as one failure', () => {
    expect(countsOf({ code: 1, output: '5 passed, 0 failed, 0 skipped' })).toEqual({ passed: 5, failed: 1, skipped: 0 })
  })

  it('prints the line that CI reads', () => {
    expect(summaryLine({ passed: 3, failed: 1, skipped: 0 })).toBe('3 passed, 1 failed, 0 skipped')
  })
})

describe('running', () => {
  it('continues after a failed gate and shows its output', async () => {
    const run = harness({ lint: { code: 1, output: 'bad line' } })
    const total = await runGates([gate('lint'), gate('build')], run.options)
    expect(total).toEqual({ passed: 1, failed: 1, skipped: 0 })
    expect(run.printed).toEqual(['bad line\n✗ lint (0.0 s): do lint', '✓ build (0.0 s)'])
  })

  it('shows the notes of a gate that has passed, and no other output of it', async () => {
    const run = harness({ test: { code: 0, output: 'many lines\nnote: 31.0 s in a.test.ts\n7 passed, 0 failed, 0 skipped\n' } })
    await runGates([gate('test')], run.options)
    expect(run.printed).toEqual(['✓ test (0.0 s): 7 passed, 0 failed, 0 skipped\n  31.0 s in a.test.ts'])
  })

  it('never runs more gates than the lanes allow', async () => {
    const run = harness()
    await runGates([gate('a'), gate('b'), gate('c')], run.options)
    expect(run.started).toEqual(['a', 'b', 'c'])
    expect(Math.max(...run.beside.map((names) => names.length))).toBe(2)
  })

  it('gives no lane to a waiting gate', async () => {
    const run = harness()
    await runGates([gate('a'), gate('b'), gate('c'), gate('page', { waits: true }), gate('test', { waits: true })], run.options)
    expect(run.beside.slice(0, 4)).toEqual([['a'], ['a', 'b'], ['a', 'b', 'page'], ['a', 'b', 'page', 'test']])
  })

  it('starts gates that measure times when all others have ended, one after the other, also if some have failed', async () => {
    const run = harness({ lint: { code: 1, output: '' } })
    await runGates([gate('one', { alone: true }), gate('lint'), gate('other', { alone: true }), gate('docs')], run.options)
    expect(run.beside).toEqual([['lint'], ['lint', 'docs'], ['one'], ['other']])
  })

  it('starts a gate after the gates it needs, and fails it if one of them failed', async () => {
    const run = harness({ build: { code: 1, output: '' } })
    const total = await runGates([gate('build'), gate('pack', { after: ['build'] }), gate('smoke', { after: ['pack'] })], run.options)
    expect(run.started).toEqual(['build'])
    expect(total).toEqual({ passed: 0, failed: 3, skipped: 0 })
  })

  it('runs a selected gate together with the gates it needs', async () => {
    const run = harness()
    const gates = [gate('lint'), gate('build'), gate('pack', { after: ['build'] })]
    await runGates(gates, { ...run.options, wanted: ['pack'] })
    expect(run.started).toEqual(['build', 'pack'])
  })
})
