import { isShort, median, type Bench } from './harness.ts'
import { withPostgres, type BenchServer } from './postgres-server.ts'
import { addWaiting, makeTemplate, openClaimer, type Claimer } from './postgres-waiting.ts'
import { percentile } from './sse-load.ts'

const few = 100
const many = isShort ? 5_000 : 50_000
const timed = isShort ? 100 : 500
const drained = isShort ? 200 : 500
const rounds = isShort ? 1 : 3
const parts = [
  { claimers: 4, max: 1 },
  { claimers: 8, max: 1 },
  { claimers: 4, max: 8 },
  { claimers: 8, max: 8 },
]

export const bench: Bench = {
  title: 'Claims on Postgres',
  text: [
    `How long a claim of one run takes a process that is alone, with ${few} and with ${many.toLocaleString('en')} sessions that wait, ${timed} claims each; the claimed run is ended before the next claim, and`,
    `that is not timed. Then *claimers*, a store with connections of its own each, claim up to *max* runs and end each of them in a commit of its own, at the same time, until ${drained.toLocaleString('en')} runs`,
    `are ended: median of ${rounds} rounds, of which *empty* is the share of claims that found another claimer at what they had chosen.`,
  ].join('\n'),
  async run() {
    const rows = await withPostgres(async (server) => {
      const queue = await waitingQueue(server)
      const rows: string[][] = []
      for (const level of [few, many]) {
        rows.push(await soloRow(server, queue, level))
        for (const part of parts) rows.push(await drainedRow(server, queue, { ...part, level: Math.max(level, drained) }))
      }
      return rows
    })
    return { head: ['waiting', 'claimers', 'max', 'claim p50 ms', 'p99', 'runs/s', 'empty'], rows }
  },
}

/** Queue with a known number of waiting sessions. */
interface Queue {
  fillTo(count: number): Promise<void>
  took(count: number): void
}

async function waitingQueue(server: BenchServer): Promise<Queue> {
  await makeTemplate(server)
  let waiting = 0
  let nextRow = 2
  return {
    async fillTo(count) {
      if (count <= waiting) return
      await addWaiting(server, nextRow, count - waiting)
      nextRow += count - waiting
      waiting = count
    },
    took(count) {
      waiting -= count
    },
  }
}

/** Measures claims from the level downwards, several at a time. */
async function soloRow(server: BenchServer, queue: Queue, level: number): Promise<string[]> {
  const claimer = await openClaimer(server)
  const times: number[] = []
  while (times.length < timed) {
    await queue.fillTo(level)
    const step = Math.min(level / 2, timed - times.length)
    for (let count = 0; count < step; count += 1) times.push(await claimMs(claimer))
    queue.took(step)
  }
  await claimer.close()
  return [level.toLocaleString('en'), '1', '1', ...shown(times), '–', '–']
}

async function claimMs(claimer: Claimer): Promise<number> {
  const startedAt = performance.now()
  const [claim] = await claimer.claim(1)
  const ms = performance.now() - startedAt
  if (!claim) throw new Error('There was nothing to claim')
  await claimer.end(claim)
  return ms
}

interface Part {
  readonly level: number
  readonly claimers: number
  readonly max: number
}

async function drainedRow(server: BenchServer, queue: Queue, { level, claimers, max }: Part): Promise<string[]> {
  const samples: Drained[] = []
  for (let round = 0; round < rounds; round += 1) {
    await queue.fillTo(level)
    samples.push(await drain(server, claimers, max))
    queue.took(drained)
  }
  const of = (value: (sample: Drained) => number) => median(samples.map(value))
  const rate = of(({ perSecond }) => perSecond).toFixed(0)
  const empty = `${(100 * of((sample) => sample.empty)).toFixed(0)} %`
  return [level.toLocaleString('en'), String(claimers), String(max), ...shown(samples.flatMap(({ times }) => times)), rate, empty]
}

function shown(times: readonly number[]): readonly string[] {
  return [0.5, 0.99].map((share) => percentile(times, share).toFixed(2))
}

interface Drained {
  readonly perSecond: number
  readonly empty: number
  readonly times: readonly number[]
}

async function drain(server: BenchServer, count: number, max: number): Promise<Drained> {
  const claimers = await Promise.all(Array.from({ length: count }, (_, index) => openClaimer(server, `claimer-${index}`)))
  const times: number[] = []
  let left = drained
  let empty = 0
  const work = async (claimer: Claimer): Promise<void> => {
    while (left > 0) {
      const wanted = Math.min(max, left)
      left -= wanted
      const startedAt = performance.now()
      const claims = await claimer.claim(wanted)
      times.push(performance.now() - startedAt)
      if (claims.length === 0) empty += 1
      left += wanted - claims.length
      if (empty > 50 * drained) throw new Error(`${left} runs cannot be claimed`)
      await Promise.all(claims.map((claim) => claimer.end(claim)))
    }
  }
  const startedAt = performance.now()
  await Promise.all(claimers.map(work))
  const seconds = (performance.now() - startedAt) / 1000
  await Promise.all(claimers.map((claimer) => claimer.close()))
  return { perSecond: drained / seconds, empty: empty / times.length, times }
}
