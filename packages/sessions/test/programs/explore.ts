import { explorePrograms, type ExploreProgramsOptions } from '@bowline/sessions/testing'
import { describe, it } from 'vitest'

/** More programs than a test run has time for: `PROGRAMS=100000`, from another seed: `PROGRAM_SEED=7000`. */
const programs = Number(process.env['PROGRAMS'] ?? 1_000)
const firstSeed = Number(process.env['PROGRAM_SEED'] ?? 1)
const perTest = 50

/** The tests of one store, fifty programs in each. */
export function explore(name: string, parts: Pick<ExploreProgramsOptions, 'store' | 'reopen'>): void {
  const blocks = Array.from({ length: Math.ceil(programs / perTest) }, (_, index) => firstSeed + index * perTest)
  describe(`programs on ${name}`, () => {
    it.each(blocks)('S200, S202, S203, S204: hold all invariants, from seed %i', { timeout: 120_000 }, async (seed) => {
      // One failure: the time of the test is enough to shrink it on a slow store.
      const { failures } = await explorePrograms({ ...parts, seed, programs: Math.min(perTest, firstSeed + programs - seed), maxFailures: 1, shrinkTries: 150 })
      // The text of an error is printed as it is, so the program can be pasted. A comparison would print it as a diff.
      for (const { invariant, problems, program } of failures) throw new Error([invariant, ...problems, '', program].join('\n'))
    })
  })
}
