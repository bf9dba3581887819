import { literal, quoted } from './print-literal.ts'
import type { Program, ProgramStep } from './program.ts'

/** Prints the program as a test that can be pasted and run. */
export function printProgram(program: Program, invariant: string): string {
  const { seed, setup, steps, crashes } = program
  return [
    `import { runProgram } from '../explorers/programs/run-program.ts'`,
    `import { expect, it } from 'vitest'`,
    '',
    `it(${quoted(`seed ${seed}: ${invariant}`)}, async () => {`,
    `  const { failures } = await runProgram({`,
    `    seed: ${seed},`,
    `    setup: ${literal(setup)},`,
    `    steps: [`,
    ...steps.map((step: ProgramStep) => `      ${literal(step)},`),
    `    ],`,
    `    crashes: ${literal(crashes)},`,
    `  })`,
    `  expect(failures).toEqual([])`,
    `})`,
    '',
  ].join('\n')
}
