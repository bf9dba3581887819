import { explorePrograms, type ExploreProgramsOptions } from '@bowline/sessions/testing'
import { describe, it } from 'vitest'
import { testSeed } from '../../../../scripts/test-length.ts'

export interface ExploreOptions extends Pick<ExploreProgramsOptions, 'store' | 'reopen'> {
  readonly programs: number
  /** Stores that run the same programs say less than stores that run different ones. */
  readonly firstSeed: number
  /** Default 25. */
  readonly perTest?: number
}

/** The tests of one store. */
export function explore(name: string, { programs, firstSeed, perTest = 25, ...parts }: ExploreOptions): void {
  const first = firstSeed + (testSeed - 1) * 100_000
  const blocks = Array.from({ length: programs / perTest }, (_, index) => first + index * perTest)
  describe(`programs on ${name}`, () => {
    it.each(blocks)('S200, S202, S203, S204: hold all invariants, from seed %i', async (seed) => {
      // One failure: the time of the test is enough to shrink it on a slow store.
      const { failures } = await explorePrograms({ ...parts, seed, programs: perTest, maxFailures: 1, shrinkTries: 150 })
      // The text of an error is printed as it is, so the program can be pasted. A comparison would print it as a diff.
      for (const { invariant, problems, program } of failures) throw new Error([invariant, ...problems, '', program].join('\n'))
    })
  })
}
