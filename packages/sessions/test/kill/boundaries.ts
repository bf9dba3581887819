import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { PayingPlace, expectSound } from './paying-place.ts'
import { startWorld, type WorldProcess } from './world-process.ts'

/** Boundaries of one run with a subagent. */
const boundaries = 47
/**
 * A long run kills at each boundary, a short one at each sixth. The crash kit covers all of them in every run, without processes.
 */
const stride = rounds({ short: 6, long: 1 })

/**
 * Kills processes with one session at boundaries of their commits, one after the other, from the given boundary on. `prepare` is
 * called for each test, with the place of its store.
 */
export function describeBoundaries(
  storeName: string,
  first: number,
  prepare: (store: string) => Promise<void> = async () => undefined,
): void {
  describe(`a process killed at the boundaries of its commits, over ${storeName}`, () => {
    let world: WorldProcess
    let place: PayingPlace
    beforeAll(async () => void (world = await startWorld()))
    afterAll(() => world.end())
    afterEach(() => place.remove())

    async function newPlace(): Promise<void> {
      place = new PayingPlace(storeName, world, 1)
      await prepare(place.store)
    }

    it('has no more boundaries than are tried here', async () => {
      await newPlace()
      const worker = place.startPaying()
      const said = await place.bury(worker)
      const moments = said.flatMap((message) => (message.type === 'moment' ? [message.what] : []))
      // Outcomes that are not stored together have one commit each.
      expect(moments.filter((what) => !what.startsWith('tool-')).length).toBeLessThanOrEqual(boundaries)
      expect(expectSound(await place.finish()).unknown).toBe(0)
    })

    it.each(Array.from({ length: boundaries }, (_, index) => index + 1).filter((boundary) => boundary % stride === first % stride))(
      'S14, S34, S38, S72, S75, S78, S84, S197: killed at boundary %d: no input is lost, nothing happens twice, and each doubtful call is reported',
      async (boundary) => {
        await newPlace()
        const worker = place.startPaying(boundary)
        await place.bury(worker)
        expectSound(await place.finish())
      },
    )
  })
}
