import { systemClock } from '@bowline/llm'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'
import { seededRandom } from '../../../testing/src/crash-kit/seeded-random.ts'
import { storeAt } from '../fixtures/store-at.ts'
import { setup } from '../support.ts'
import { Workplace, type WorkerMessage, type WorkerProcess } from './worker-process.ts'

const perSession = rounds({ short: 15, long: 100 })
const sessions = rounds({ short: 6, long: 100 })
const spreadMs = rounds({ short: 2000, long: 60_000 })
const kills = 3
/** Most commit boundaries before a process is killed. All processes together have many more. */
const mostBoundaries = rounds({ short: 60, long: 20_000 })
const hourMs = 3_600_000

// Each test starts at least four processes.
vi.setConfig({ testTimeout: rounds({ short: 60_000, long: 1_200_000 }) })

/** Kills processes one after the other while `processes` of them work. `prepare` creates the place of the store. */
export function killSchedules(
  storeName: string,
  processes: number,
  prepare: (place: Workplace) => Promise<void> = async () => undefined,
): void {
  let place: Workplace
  beforeEach(async () => {
    place = new Workplace(storeName)
    await prepare(place)
  })
  afterEach(() => place.remove())

  const start = (boundary = 0): WorkerProcess => place.startProgram('scheduled-worker', [place.store, String(boundary)])

  /** Creates the schedules an hour ago, so that some are already due. */
  async function plan(): Promise<void> {
    const firstAt = Date.now()
    const clock = { ...systemClock, now: () => firstAt - hourMs }
    const { runtime } = setup({ steps: [], store: storeAt(place.store), concurrency: 0, timers: false, clock })
    await runtime.start()
    await Promise.all(
      Array.from({ length: sessions }, async (_, room) => {
        const session = runtime.session(`room:${room}`)
        for (let n = 0; n < perSession; n++) {
          const at = firstAt + Math.floor(((n * sessions + room) * spreadMs) / (sessions * perSession))
          await session.schedule({ id: `s${n}`, at, input: `input ${n}` })
        }
      }),
    )
    await runtime.stop()
  }

  async function idsOfRuns(): Promise<readonly (readonly string[])[]> {
    const { runtime } = setup({ steps: [], store: storeAt(place.store), concurrency: 0, timers: false })
    await runtime.start()
    const found = await Promise.all(
      Array.from({ length: sessions }, async (_, room) => {
        const { items } = await runtime.session(`room:${room}`).runs({ limit: 1000 })
        expect(items.map(({ status }) => status)).toEqual(items.map(() => 'completed'))
        return items.map(({ inputId = '' }) => inputId.split(':')[1] ?? '').sort()
      }),
    )
    await runtime.stop()
    return found
  }

  it(`S210, S211: ${sessions * perSession} inputs due in ${spreadMs} ms, ${kills} kills from seed ${testSeed}: each is sent once`, async () => {
    await plan()
    const random = seededRandom(testSeed)
    let killed = 0
    const others: WorkerProcess[] = []
    for (let kill = 0; kill < kills; kill++) {
      const worker = start(1 + Math.floor(random() * mostBoundaries))
      const said = await worker.readUntil(() => true).catch((): WorkerMessage[] => [])
      // The others begin after the first one, so they leave it enough to do.
      while (others.length < processes - 1) others.push(start())
      said.push(...(await worker.rest()))
      // Other processes may have finished meanwhile.
      if (!said.some(({ type }) => type === 'done')) killed += 1
    }
    for (const worker of [start(), ...others]) await worker.readUntil(({ type }) => type === 'done')
    await place.killAll()
    const expected = Array.from({ length: perSession }, (_, n) => `s${n}`).sort()
    expect(await idsOfRuns()).toEqual(Array.from({ length: sessions }, () => expected))
    expect(killed).toBeGreaterThanOrEqual(processes === 1 ? kills : 1)
  })
}
