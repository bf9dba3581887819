import { isShort, median, type Bench } from './harness.ts'
import { listsOf, storesWithSessions, type WithSessions } from './lists.ts'

const usual = isShort ? [1000] : [1000, 20_000]
/** `BENCH_SESSIONS=1000000` adds this number of sessions for SQLite and Postgres, and a tenth of it for memory. */
const more = Number(process.env['BENCH_SESSIONS'] ?? 0)
const warmups = 10
const rounds = 41

export const bench: Bench = {
  title: 'Lists of sessions',
  text: [
    'One page of at most 100 sessions with `listSessions`, in a store with so many of them. The last 200 sessions are before a late page; ten sessions are in the small tenant,',
    `of the agent, expired, and waiting. Medians of ${rounds} calls in ms; the last column is 20,000 ÷ 1,000 sessions.`,
    '`BENCH_SESSIONS=1000000 npm run bench -- lists` adds a larger number, and a tenth of it for memory.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const [name, withSessions] of Object.entries(storesWithSessions)) {
      const sizes = more > 0 ? [...usual, name === 'memory' ? more / 10 : more] : usual
      const timed = new Map<number, readonly number[]>()
      for (const size of sizes) timed.set(size, await timesOf(withSessions, size))
      const [small = [], large = small, most] = sizes.map((size) => timed.get(size) ?? [])
      const titles = Object.keys(listsOf(few)).map(
        (title, place) => [title, small[place] ?? NaN, large[place] ?? NaN, most?.[place]] as const,
      )
      for (const [title, at, then, last] of titles) {
        rows.push([name, title, at.toFixed(2), then.toFixed(2), last === undefined ? '–' : last.toFixed(2), (then / at).toFixed(2)])
      }
    }
    return { head: ['store', 'list', '1,000', '20,000', 'more', '÷'], rows }
  },
}

const few = 10

async function timesOf(withSessions: WithSessions, size: number): Promise<readonly number[]> {
  return withSessions(size, async (store) => {
    const times: number[] = []
    for (const [title, query] of Object.entries(listsOf(size))) {
      const samples: number[] = []
      for (let round = 0; round < warmups + rounds; round += 1) {
        const startedAt = performance.now()
        const { items } = await store.listSessions(query)
        samples.push(performance.now() - startedAt)
        if (items.length === 0) throw new Error(`The list ${title} is empty`)
      }
      times.push(median(samples.slice(warmups)))
    }
    return times
  })
}
