import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { runInThisContext } from 'node:vm'
import { memoryStore } from '@bowline/sessions/memory'
import { exploreSimulations } from '../explorers/simulation/explore-simulations.ts'
import { runSimulation } from '../explorers/simulation/run-simulation.ts'
import { simulationFaults } from '../explorers/simulation/faults.ts'
import type { DisturbanceKind, Simulation } from '../explorers/simulation/simulation.ts'
import type { SimulationFault } from '../explorers/simulation/options.ts'
import { describe, expect, it } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { rounds } from '../../../../scripts/test-length.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { drawSimulation } from '../explorers/simulation/draw-simulation.ts'
import { disturbanceKinds } from '../explorers/simulation/simulation.ts'

/** Two processes with one client each, tools and a subagent. */
const calm: Simulation = {
  seed: 1,
  clocks: [0, 0],
  lostHints: 0,
  modelMs: 200,
  steps: [
    {
      do: 'send',
      at: 0,
      to: 'a',
      afterMs: 0,
      name: 'first',
      plan: [{ calls: [{ tool: 'pay' }, { tool: 'look' }] }, { calls: [{ delegate: [{ calls: [{ tool: 'index' }] }] }] }],
    },
    { do: 'send', at: 1, to: 'a', afterMs: 100, name: 'second', thenReadAt: 0 },
    { do: 'stop', at: 1, to: 'a', afterMs: 600 },
    { do: 'send', at: 0, to: 'b', afterMs: 0, name: 'third', thenReadAt: 1 },
  ],
  disturbances: [],
}

const { points } = await runSimulation(calm)
const traceOf = async (simulation: Simulation) => (await runSimulation(simulation)).trace.join('\n')

describe('a simulation', () => {
  it('S198: equal seeds give equal traces, byte for byte, in another process too', async () => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8]
    const traces: string[] = []
    for (const seed of seeds) traces.push(await traceOf(drawSimulation(seed)))
    const again: string[] = []
    for (const seed of seeds.toReversed()) again.unshift(await traceOf(drawSimulation(seed)))
    expect(again).toEqual(traces)
    expect(new Set(traces).size).toBe(seeds.length)
    const hash = execFileSync(process.execPath, [...nodeFlags, program('sessions/test/fixtures/simulation-trace'), ...seeds.map(String)], {
      encoding: 'utf8',
    })
    expect(hash).toBe(createHash('sha256').update(traces.join('\n')).digest('hex'))
  })

  it.each(['kill', 'kill-after', 'pause', 'lost', 'lost-after', 'cut', 'outage'] as const satisfies readonly DisturbanceKind[])(
    'S198: %s at each store operation breaks nothing',
    async (how) => {
      const stride = rounds({ short: 4, long: 1 })
      for (let at = 1; at <= points; at += stride) {
        const { failures, trace } = await runSimulation({ ...calm, disturbances: [{ at, how }] })
        if (failures.length > 0)
          throw new Error(
            [`${how} at ${at}`, ...failures.flatMap(({ invariant, problems }) => [invariant, ...problems]), ...trace].join('\n'),
          )
      }
    },
  )

  it('S198: disturbances are drawn from all kinds', () => {
    const drawn = Array.from({ length: 100 }, (_, index) => drawSimulation(index))
    expect(new Set(drawn.flatMap(({ disturbances }) => disturbances.map(({ how }) => how)))).toEqual(new Set(disturbanceKinds))
    expect(new Set(drawn.flatMap(({ steps }) => steps.map((step) => step.do)))).toEqual(
      new Set(['send', 'steer', 'follow-up', 'stop', 'read', 'follow']),
    )
    expect(drawn.some(({ clocks }) => clocks.some((byMs) => byMs !== 0))).toBe(true)
    for (const name of ['tellsLosses', 'deltaMs', 'maxRunsPerTenant'] as const)
      expect(drawn.some((simulation) => simulation[name] !== undefined)).toBe(true)
  })

  it('S198: a failing simulation is shrunk, and printed as a test with its trace', async () => {
    const [fault] = simulationFaults
    const [failure] = (await exploreSimulations({ seed: 1, simulations: 20, ...(fault && { fault }), maxFailures: 1, shrinkTries: 60 }))
      .failures
    expect(failure?.invariant).toBe('the history agrees with the model of a session')
    const printed = failure?.simulation ?? ''
    expect(printed).toMatch(/^import { runSimulation } from '..\/explorers\/simulation\/run-simulation.ts'/)
    // The printed simulation can be run.
    const simulation = runInThisContext(`(${/runSimulation\(({.*?\n {2}})\)/s.exec(printed)?.[1]})`) as Simulation
    expect((await runSimulation(simulation, { ...(fault && { fault }) })).failures[0]).toMatchObject({
      invariant: failure?.invariant,
      problems: failure?.problems,
    })
    expect((await runSimulation(simulation)).failures).toEqual([])
    expect(failure?.trace.some((line) => line.includes('commit '))).toBe(true)
    expect(failure?.trace.some((line) => line.includes('claim: nothing'))).toBe(false)
  })

  it('S198: the caller may pass its own shared store', async () => {
    const { failures, simulations, points: asked } = await exploreSimulations({ seed: 1, simulations: 10, store: () => memoryStore() })
    expect({ failures, simulations }).toEqual({ failures: [], simulations: 10 })
    expect(asked).toBeGreaterThan(500)
  })

  it('S198: a runtime with unexpected errors is found', async () => {
    const fault: SimulationFault = {
      name: 'a store that answers nonsense',
      plant: () => ({
        client: (store) => aroundStore(store, (operation, _args, go) => (operation === 'renew' ? Promise.resolve(undefined) : go())),
      }),
    }
    const { failures } = await runSimulation({ ...calm, modelMs: 4_000 }, { fault })
    expect(failures.map(({ invariant }) => invariant)).toContain('nothing fails in the background')
  })
})
