import { exploreSimulations } from '../explorers/simulation/explore-simulations.ts'
import { describe, it } from 'vitest'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'

const perTest = 25
const files = 4
/** Number per file. All files together run 1,000, side by side. */
const perFile = rounds({ short: 250, long: 25_000 })

/** Defines the tests of one of the files. */
export function simulate(file: 1 | 2 | 3 | 4): void {
  const first = 1 + (file - 1) * perFile + (testSeed - 1) * files * perFile
  const blocks = Array.from({ length: perFile / perTest }, (_, index) => first + index * perTest)
  describe('simulations of several processes', () => {
    it.each(blocks)('S57, S61, S196, S197, S198: hold all invariants, from seed %i', async (seed) => {
      const { failures } = await exploreSimulations({ seed, simulations: perTest, maxFailures: 1, shrinkTries: 100 })
      // Throws the text, so that it is printed unchanged and the simulation can be pasted.
      for (const { invariant, problems, simulation, trace } of failures)
        throw new Error([invariant, ...problems, '', simulation, ...trace].join('\n'))
    })
  })
}
