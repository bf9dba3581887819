import { setTimeout } from 'node:timers/promises'
import { systemClock } from '@bowline/llm'
import type { RunRecord, SessionStore } from '@bowline/sessions'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rounds, testSeed } from '../../../../../scripts/test-length.ts'
import { isAtRest, readSessions } from '../../../../testing/src/crash-kit/read-end.ts'
import type { RacingOptions } from '../../fixtures/racing-worker.ts'
import { postgresPlace } from '../../../../postgres/test/place.ts'
import { Workplace, type WorkerMessage } from '../worker-process.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: rounds({ short: 60_000, long: 3_600_000 }) })

const workers = 2
const sessions = 10
const inputs = rounds({ short: 20, long: 500 })
const mostMs = 2_000

describe('inputs that are sent at the moment at which the run of their session ends', () => {
  const place = postgresPlace()
  const workplace = new Workplace('none')
  afterEach(() => workplace.remove())

  it(`S183: ${workers * sessions * inputs} inputs from ${workers} processes, from seed ${testSeed}: none waits for longer than ${mostMs} ms before it is claimed`, async () => {
    const store = await place.empty()
    await store.open({ namespace: 'default', owner: 'reader', clock: systemClock })
    try {
      const said = await Promise.all(
        Array.from({ length: workers }, (_, index) => race({ url: place.url, seed: testSeed + index, sessions, inputs })),
      )
      while (!(await isAtRest(store))) await setTimeout(20)
      const waits = await waitsOf(store)
      expect(waits).toHaveLength(workers * sessions * inputs)
      const machineMs = Math.max(...said.map(({ longestWaitMs }) => longestWaitMs))
      expect(waits.filter((ms) => ms > mostMs + 2 * machineMs)).toEqual([])
    } finally {
      await store.close()
    }
  })

  /** Resolves when the worker has sent all inputs. It still executes runs. */
  async function race(options: RacingOptions): Promise<Extract<WorkerMessage, { type: 'sent' }>> {
    const worker = workplace.startProgram('racing-worker', [JSON.stringify(options)])
    const messages = await worker.readUntil(({ type }) => type === 'sent')
    expect(messages.filter(({ type }) => type === 'fault')).toEqual([])
    return messages.at(-1) as Extract<WorkerMessage, { type: 'sent' }>
  }
})

/** Returns how long each run could have been claimed before it was. */
async function waitsOf(store: SessionStore): Promise<readonly number[]> {
  const all = (await readSessions(store)).map(({ runs }) => runs.toSorted((a, b) => (a.claimedAt ?? 0) - (b.claimedAt ?? 0)))
  return all.flatMap((runs) => runs.map((run, index) => waitOf(run, runs[index - 1])))
}

function waitOf({ createdAt, claimedAt }: RunRecord, before: RunRecord | undefined): number {
  expect(claimedAt).toBeDefined()
  return (claimedAt ?? Infinity) - Math.max(createdAt, before?.endedAt ?? 0)
}
