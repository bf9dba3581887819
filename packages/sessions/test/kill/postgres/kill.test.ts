import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { rounds, testSeed } from '../../../../../scripts/test-length.ts'
import { seededRandom } from '../../../../testing/src/crash-kit/seeded-random.ts'
import { postgresPlace } from '../../../../postgres/test/place.ts'
import { expectSound } from '../paying-place.ts'
import { startWorld, type WorldProcess } from '../world-process.ts'
import { Crew } from './crew.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: rounds({ short: 60_000, long: 3_600_000 }) })

const workers = 3
const inputsPerSession = 2
const sessions = rounds({ short: 5, long: 100 })
const killsPerWorker = rounds({ short: 2, long: 40 })
/** Number of moments that a worker prints until it has finished a few commits and tools. */
const mostMoments = 30

describe('three processes over Postgres that are killed at random moments', () => {
  const place = postgresPlace()
  let world: WorldProcess
  let crew: Crew
  beforeAll(async () => void (world = await startWorld()))
  afterAll(() => world.end())
  afterEach(() => crew.remove())

  /** Kills one worker after the other, except the last. */
  async function keepKilling(random: () => number, done: Promise<unknown>): Promise<number> {
    let kills = 0
    let isDone = false
    void done.then(() => (isDone = true))
    while (kills < killsPerWorker) {
      const worker = crew.startWorker()
      const last = 1 + Math.floor(random() * mostMoments)
      let seen = 0
      await Promise.race([worker.readUntil(({ type }) => type === 'moment' && ++seen >= last), done])
      if (isDone) return kills
      // The worker runs on until the signal arrives.
      await worker.kill()
      kills += 1
    }
    void crew.startWorker().readToEnd()
    return kills
  }

  it(`S14, S34, S36, S38, S60, S72, S75, S78, S84, S197: ${sessions * inputsPerSession} runs, with ${workers * killsPerWorker} kills from seed ${testSeed}: no input is lost, all runs end, nothing happens twice`, async () => {
    await place.clear()
    crew = new Crew(place.url, world)
    await crew.connect()
    const random = seededRandom(testSeed)
    const done = crew.sendAll(sessions, inputsPerSession)
    const kills = await Promise.all(Array.from({ length: workers }, () => keepKilling(random, done)))
    await done
    const figures = expectSound(await crew.end())
    expect(figures.runs).toBe(2 * sessions * inputsPerSession)
    expect(kills.reduce((sum, each) => sum + each)).toBeGreaterThan(workers)
    expect(crew.faults).toEqual([])
  })
})
