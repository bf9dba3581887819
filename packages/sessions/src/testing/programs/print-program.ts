import type { Program, ProgramStep } from './program.ts'

/** The program as a test that can be pasted and run. */
export function printProgram(program: Program, invariant: string): string {
  const { seed, setup, steps, crashes } = program
  return [
    `import { runProgram } from '@bowline/sessions/testing'`,
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

/** JSON as it is written in a program. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).flatMap(([name, field]) => (field === undefined ? [] : `${name}: ${literal(field)}`))
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
