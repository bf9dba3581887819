import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'
import { seededRandom } from '../../../testing/src/crash-kit/seeded-random.ts'
import { PayingPlace, expectSound } from './paying-place.ts'
import { startWorld, type WorldProcess } from './world-process.ts'

// Each test starts several processes, one after the other.
vi.setConfig({ testTimeout: rounds({ short: 120_000, long: 3_600_000 }) })

const numberOfRounds = rounds({ short: 1, long: 100 })
const killsPerRound = rounds({ short: 5, long: 10 })
const sessions = 20
/** Number of moments that a process prints until about half of its sessions have reached their subagents. */
const moments = 400

/** Kills processes with many sessions at random moments, one after the other on the same store. */
export function describeRandomMoments(storeName: string): void {
  describe(`processes killed at random moments, over ${storeName}`, () => {
    let world: WorldProcess
    let place: PayingPlace
    beforeAll(async () => void (world = await startWorld()))
    afterAll(() => world.end())
    afterEach(() => place.remove())

    it.each(Array.from({ length: numberOfRounds }, (_, index) => testSeed + index))(
      `S14, S34, S38, S72, S75, S78, S84, S197: from seed %d, ${killsPerRound} kills with ${sessions} sessions: no input is lost, nothing happens twice, and each doubtful call is reported`,
      async (seed) => {
        place = new PayingPlace(storeName, world, sessions)
        const random = seededRandom(seed)
        for (let kill = 0; kill < killsPerRound; kill++) {
          const worker = place.startPaying()
          const last = 1 + Math.floor(random() * moments)
          let seen = 0
          const said = await worker.readUntil((message) => message.type === 'done' || (message.type === 'moment' && ++seen >= last))
          // The worker runs on until the signal arrives.
          await worker.kill()
          await place.bury(worker, said)
        }
        const { runs } = expectSound(await place.finish())
        expect(runs).toBeGreaterThanOrEqual(place.accepted.length)
      },
    )
  })
}
