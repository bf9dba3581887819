import type { JSONValue } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { kvStateStore } from '@bowline/redis/kv'
import { redisStateStore } from '@bowline/redis'
import { Redis } from '@upstash/redis'
import { createClient } from 'redis'
import { isShort, measure, median, type Bench } from './harness.ts'
import { withRedis, type RedisServers } from './redis-servers.ts'
import { percentile } from './sse-load.ts'

const changes = isShort ? 320 : 6_400
const rounds = isShort ? 1 : 5
const levels = [1, 32]
const ttlMs = 3_600_000
/** State of an orchestration after ten uses of a tool. */
const value: JSONValue = {
  activeStep: 'look',
  toolHistory: Array.from({ length: 10 }, (_, at) => ({ tool: 'search_documents', at, key: `call-${at}-of-the-turn` })),
}

/** Minimal compare-and-set of a record with a TTL. */
const bareScript = `if (redis.call('HGET', KEYS[1], 'version') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`

export const bench: Bench = {
  title: 'State stores on Redis and KV',
  text: [
    `Writers of one process change a record of ${JSON.stringify(value).length} bytes each, one change after the other, ${changes.toLocaleString('en')} in all: compare-and-set of the store, beside the client`,
    'alone with the shortest script that does a compare-and-set with a time to live (`EVALSHA`). *Redis* is one server whose append-only file',
    'reaches the disk each second; *KV* is the same behind the KV server of `@bowline/testing/stores`, in a thread of its own.',
    `Medians of ${rounds} interleaved rounds, percentiles of all changes in them.`,
  ].join('\n'),
  async run() {
    const rows = await withRedis(async (servers) => {
      const rows: string[][] = []
      for (const writers of levels) for (const open of [redisPair, kvPair]) rows.push(...(await pairRows(await open(servers), writers)))
      return rows
    })
    return { head: ['store', 'writers', 'changes/s', 'p50 ms', 'p99 ms', '× client'], rows }
  },
}

/** Writes the next version of a record: 1, 2, 3 … */
type Change = (id: string, version: number) => Promise<void>

interface Pair {
  readonly client: { readonly name: string; readonly change: Change }
  readonly store: { readonly name: string; readonly change: Change }
  readonly close: () => Promise<void>
}

let records = 0

async function pairRows({ client, store, close }: Pair, writers: number): Promise<readonly string[][]> {
  const contenders = [client, store].map((each) => ({ ...each, times: [] as number[] }))
  const measured = await measure(
    contenders.map(({ name, change, times }) => ({ name, run: async () => void times.push(...(await changesOf(change, writers))) })),
    { rounds, warmups: 1, collect: false },
  )
  await close()
  const [bareMs = NaN] = measured.map(({ samplesMs }) => median(samplesMs))
  return measured.map(({ name, medianMs }, index) => {
    // The first run is the warm-up, so its figures are dropped.
    const times = contenders[index]?.times.slice(changes) ?? []
    const shown = [0.5, 0.99].map((share) => percentile(times, share).toFixed(3))
    return [name, String(writers), ((changes / medianMs) * 1000).toFixed(0), ...shown, index === 0 ? '' : (medianMs / bareMs).toFixed(2)]
  })
}

/** Runs changes with this number of writers, each with its own record. Returns the duration of each change. */
async function changesOf(change: Change, writers: number): Promise<readonly number[]> {
  const times: number[] = []
  const write = async (): Promise<void> => {
    const id = `record-${records++}`
    for (let version = 1; version <= changes / writers; version++) {
      const startedAt = performance.now()
      await change(id, version)
      times.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  return times
}

function changeIn(store: StateStore): Change {
  return async (id, version) => {
    const written = await store.compareAndSet('bench', id, version === 1 ? null : version - 1, value, { ttlMs })
    if (!written.ok || written.version !== version) throw new Error(`The change of ${id} to version ${version} was not made`)
  }
}

function argumentsOf(version: number): string[] {
  return [String(version - 1), String(version), JSON.stringify(value), String(ttlMs)]
}

function check(answer: unknown): void {
  if (Number(answer) !== 1) throw new Error('The script of the client made no change')
}

async function redisPair({ redisUrl }: RedisServers): Promise<Pair> {
  const client = await createClient({ url: redisUrl }).connect()
  const sha = await client.scriptLoad(bareScript)
  const store = redisStateStore({ url: redisUrl })
  return {
    client: {
      name: 'client `redis`',
      change: async (id, version) => check(await client.evalSha(sha, { keys: [`bare:${id}`], arguments: argumentsOf(version) })),
    },
    store: { name: '`redisStateStore`', change: changeIn(store) },
    async close() {
      await client.close()
      await store.close()
    },
  }
}

async function kvPair({ kv }: RedisServers): Promise<Pair> {
  const client = new Redis({ ...kv, enableTelemetry: false })
  const sha = await client.scriptLoad(bareScript)
  const store = kvStateStore(kv)
  return {
    client: {
      name: 'client `@upstash/redis`',
      change: async (id, version) => check(await client.evalsha(sha, [`bare:${id}`], argumentsOf(version))),
    },
    store: { name: '`kvStateStore`', change: changeIn(store) },
    close: () => store.close(),
  }
}
