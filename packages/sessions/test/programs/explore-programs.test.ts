import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fileStore } from '@bowline/sessions/file'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { explorePrograms } from '../explorers/programs/explore-programs.ts'
import { programFaults } from '../explorers/programs/faults.ts'
import { programFeatures, type Feature, type Program } from '../explorers/programs/program.ts'
import { runProgram } from '../explorers/programs/run-program.ts'
import type { ProgramFault, RunProgramOptions } from '../explorers/programs/program-options.ts'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { drawProgram } from '../explorers/programs/draw-program.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'

const folder = temporaryFolders()

function fault(name: string): ProgramFault {
  const found = programFaults.find((each) => each.name === name)
  if (!found) throw new TypeError(`there is no fault ${name}`)
  return found
}

describe('programs', () => {
  it('S200: equal seeds give equal programs, traces and verdicts', async () => {
    const explore = (seed: number) => explorePrograms({ programs: 2, seed, faults: [fault('a lost steer')], shrinkTries: 10 })
    const [first, second] = [await explore(52), await explore(52)]
    expect(first.failures.length).toBeGreaterThan(0)
    expect(second).toEqual(first)
    expect((await explorePrograms({ programs: first.programs, seed: 100 })).points).not.toBe(first.points)
  })

  it.each<[string, RunProgramOptions]>([
    ['file', { store: () => fileStore({ dir: folder(), fsync: false }) }],
    ['SQLite', { store: () => sqliteStore({ file: join(folder(), 'sessions.db'), synchronous: 'normal' }) }],
  ])('S200: a program takes the same way twice on the %s store', async (_name, options) => {
    const program: Program = {
      seed: 5,
      setup: { modelMs: 10, hooks: [{ hook: 'onTurnStart', does: 100 }] },
      steps: [
        {
          do: 'send',
          to: 'a',
          name: 'first',
          plan: [{ calls: [{ delegate: [{ calls: [{ tool: 'pay' }] }], background: true }, { tool: 'index' }] }],
          turns: 9,
        },
        { do: 'steer', to: 'a', name: 'second', turns: 3 },
        { do: 'follow-up', to: 'a', name: 'third', plan: [] },
      ],
      crashes: [
        { at: 40, how: 'kill' },
        { at: 90, how: 'lost-after' },
      ],
    }
    expect(await runProgram(program, options)).toEqual(await runProgram(program, options))
  })

  it.each<[Feature, (program: Program) => boolean]>([
    ['costs', ({ setup }) => setup.maxCost !== undefined],
    ['copies', ({ steps }) => steps.some((step) => step.do === 'copy')],
    ['resumes', ({ steps }) => steps.some((step) => step.do === 'resume')],
  ])('S200: %s are drawn only if they are wanted', (feature, isIn) => {
    const drawn = (features: readonly Feature[]) =>
      Array.from({ length: 200 }, (_, seed) => drawProgram(seed, features)).filter(isIn).length
    expect(drawn(programFeatures)).toBeGreaterThan(20)
    expect(drawn(programFeatures.filter((each) => each !== feature))).toBe(0)
  })

  it('S201: a program that fails is shrunk, and printed as a test that runs', async () => {
    const faults = [fault('a lost steer')]
    // It is small, so it is shrunk quickly.
    const { failures } = await explorePrograms({ programs: 1, seed: 52, faults })
    const [failure] = failures
    expect(failure?.program.split('\n').filter((line) => line.startsWith("      { do: '")).length).toBeLessThanOrEqual(3)
    const run = (given: readonly ProgramFault[]) => {
      const body =
        failure?.program
          .split('\n')
          .filter((line) => !line.startsWith('import '))
          .join('\n') ?? ''
      let test: (() => Promise<void>) | undefined
      const it = (_name: string, made: () => Promise<void>) => (test = made)
      // oxlint-disable-next-line typescript/no-implied-eval -- the printed test must run unchanged
      const define = new Function('it', 'expect', 'runProgram', body) as (...given: readonly unknown[]) => void
      define(it, expect, (program: Program) => runProgram(program, { faults: given }))
      return test?.()
    }
    await expect(run(faults)).rejects.toThrow('to deeply equal')
    await run([])
  })

  it.each(['kill-in-tool', 'freeze-in-tool'] as const)(
    'S200: a process is struck right after an effect, and another one takes the run over (%s)',
    async (how) => {
      const { trace, failures } = await runProgram({
        seed: 1,
        setup: {},
        crashes: [{ at: 2, how }],
        steps: [{ do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ tool: 'index' }] }, { calls: [{ tool: 'index' }] }] }],
      })
      const struck = trace.findIndex((line) => line.endsWith(`process-1 is struck: ${how}`))
      expect(trace[struck - 1]).toContain('process-1 effect index')
      expect(trace.slice(struck).findIndex((line) => line.includes('process-2 claim run_1 (running)'))).toBeGreaterThan(0)
      expect(trace.some((line) => line.endsWith('process-1 goes on'))).toBe(how === 'freeze-in-tool')
      expect(failures).toEqual([])
    },
  )

  it.each([3_000, 20_000])(
    'S200: the store is unavailable for %i ms, the run resumes afterwards, and each effect happens once',
    async (ms) => {
      const { trace, failures } = await runProgram({
        seed: 1,
        setup: { modelMs: 1_000 },
        crashes: [{ at: 16, how: 'outage', ms }],
        steps: [{ do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ tool: 'index' }] }, { calls: [{ tool: 'index' }] }] }],
      })
      expect(trace.some((line) => line.includes('is struck at') && line.endsWith('outage'))).toBe(true)
      expect(trace.filter((line) => line.includes('effect index'))).toHaveLength(2)
      expect(failures).toEqual([])
    },
  )

  it('S203: a runtime that repeats something without end is stopped', async () => {
    const program: Program = {
      seed: 1,
      setup: { modelMs: 10 },
      crashes: [],
      steps: [{ do: 'send', to: 'a', name: 'first', plan: [{ calls: [{ delegate: [], background: true }] }], turns: 9 }],
    }
    const { failures, points } = await runProgram(program, { faults: [fault('a notification that keeps its rows')] })
    expect(failures[0]).toMatchObject({ invariant: 'the work of a program is limited by its size' })
    expect(points).toBeLessThan(2_000)
  })

  it('S203: the heap is flat over many programs', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const programs = rounds({ short: 20, long: 200 })
    const heapAfter = async (seed: number): Promise<number> => {
      await explorePrograms({ programs, seed })
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = await heapAfter(1)
    expect((await heapAfter(1 + programs)) - before).toBeLessThan(programs * 100 * 1024)
  })
})
