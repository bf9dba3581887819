import { literal, quoted } from '../programs/print-literal.ts'
import type { Simulation } from './simulation.ts'

/** Prints the simulation as a test that can be pasted and run. */
export function printSimulation(simulation: Simulation, invariant: string): string {
  const { seed, clocks, lostHints, tellsLosses, modelMs, deltaMs, maxRunsPerTenant, steps, disturbances } = simulation
  const given = (name: string, value: unknown): readonly string[] => (value === undefined ? [] : [`    ${name}: ${literal(value)},`])
  return [
    `import { runSimulation } from '../explorers/simulation/run-simulation.ts'`,
    `import { expect, it } from 'vitest'`,
    '',
    `it(${quoted(`seed ${seed}: ${invariant}`)}, async () => {`,
    `  const { failures } = await runSimulation({`,
    `    seed: ${seed},`,
    `    clocks: ${literal(clocks)},`,
    `    lostHints: ${lostHints},`,
    ...given('tellsLosses', tellsLosses),
    `    modelMs: ${modelMs},`,
    ...given('deltaMs', deltaMs),
    ...given('maxRunsPerTenant', maxRunsPerTenant),
    `    steps: [`,
    ...steps.map((step) => `      ${literal(step)},`),
    `    ],`,
    `    disturbances: ${literal(disturbances)},`,
    `  })`,
    `  expect(failures).toEqual([])`,
    `})`,
    '',
  ].join('\n')
}

const idle = / (?:claim: nothing|prune|due|open|close|state|(?:read|list)\w+|read deltas .*)$/

/** Returns the trace without reads. */
export function notable(trace: readonly string[]): readonly string[] {
  return trace.filter((line) => !idle.test(line))
}
