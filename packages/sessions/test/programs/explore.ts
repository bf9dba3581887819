import { explorePrograms } from '../explorers/programs/explore-programs.ts'
import type { ExploreProgramsOptions } from '../explorers/programs/program-options.ts'
import { describe, it } from 'vitest'
import { testSeed } from '../../../../scripts/test-length.ts'

export interface ExploreOptions extends Pick<ExploreProgramsOptions, 'store' | 'reopen'> {
  readonly programs: number
  /** Seed of the first program. It differs per store, so that all stores together run more programs. */
  readonly firstSeed: number
  /** Default 25. */
  readonly perTest?: number
}

/** Defines the tests of one store. */
export function explore(name: string, { programs, firstSeed, perTest = 25, ...parts }: ExploreOptions): void {
  const first = firstSeed + (testSeed - 1) * 100_000
  const blocks = Array.from({ length: programs / perTest }, (_, index) => first + index * perTest)
  describe(`programs on ${name}`, () => {
    it.each(blocks)('S200, S202, S203, S204: hold all invariants, from seed %i', async (seed) => {
      // One failure is enough: the time limit of the test allows to shrink it even on a slow store.
      const { failures } = await explorePrograms({ ...parts, seed, programs: perTest, maxFailures: 1, shrinkTries: 150 })
      // Throws the text, so that it is printed unchanged and the program can be pasted. A comparison would print a diff.
      for (const { invariant, problems, program } of failures) throw new Error([invariant, ...problems, '', program].join('\n'))
    })
  })
}
