import { join } from 'node:path'
import { expect, it } from 'vitest'
import { notesOf } from '../vitest-summary-reporter.mjs'

/** Returns a file as vitest reports it: seconds of its import, then of each of its tests. */
function file(name: string, collected: number, ...tests: readonly number[]) {
  const module = {
    moduleId: join(process.cwd(), name),
    diagnostic: () => ({
      collectDuration: collected * 1000,
      setupDuration: 0,
      duration: tests.reduce((sum, each) => sum + each, 0) * 1000,
    }),
    children: {
      allTests: () => tests.map((each, index) => ({ module, fullName: `test ${index}`, diagnostic: () => ({ duration: each * 1000 }) })),
    },
  }
  return module as unknown as Parameters<typeof notesOf>[0][number]
}

it('names the ten slowest files of a large run, with the time of their import', () => {
  const files = Array.from({ length: 12 }, (_, index) => file(`${index}.test.ts`, 1, index))
  const notes = notesOf(files)
  expect(notes).toHaveLength(10)
  expect(notes.slice(0, 2)).toEqual(['12.0 s in 11.test.ts (1.0 s to import it)', '11.0 s in 10.test.ts (1.0 s to import it)'])
  expect(notesOf(files.slice(2))).toEqual([])
})

it('names each test that takes over 20 s', () => {
  expect(notesOf([file('packages/a.test.ts', 0, 3, 20.5), file('b.test.ts', 30, 20)])).toEqual([
    '20.5 s is over the 20.0 s of a test: packages/a.test.ts > test 1',
  ])
})
