import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createMemories, type Memories, type StateStore } from '@bowline/sessions'
import { postgresStateStore } from '@bowline/postgres'
import { describe, expect, it } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../../scripts/redis.ts'
import { sharedKv } from '../../../redis/test/kv-support.ts'
import { newPrefix, redisStores } from '../../../redis/test/redis-support.ts'
import type { StatePlace } from '../state/state-place.ts'
import { saveNotes } from './save-notes.ts'
import { alice, bob, keysOf } from './support.ts'

const run = promisify(execFile)
const times = 12

async function everyNote(memories: Memories, user: string): Promise<Readonly<Record<string, string>>> {
  const notes: Record<string, string> = {}
  for await (const { key, text } of memories.export({ user })) notes[key] = text
  return notes
}

/** Three processes save notes of one scope at once: some of their own, and some that all of them save. */
async function saveAtOnce(place: StatePlace, store: StateStore, user: string): Promise<void> {
  const child = async (name: string): Promise<string> =>
    (
      await run(process.execPath, [
        ...nodeFlags,
        program('sessions/test/memories/fixtures/memory-process'),
        JSON.stringify(place),
        user,
        name,
        String(times),
      ])
    ).stdout
  const memories = createMemories({ store })
  const [first, second] = await Promise.all([child('a'), child('b'), saveNotes(memories, user, 'c', times)])
  expect([first, second]).toEqual(['saved\n', 'saved\n'])
  const notes = await everyNote(memories, user)
  const own = ['a', 'b', 'c'].flatMap((name) => Array.from({ length: times }, (_, n) => [`${name}-${n}`, `Note ${n} of ${name}.`] as const))
  expect(notes).toMatchObject(Object.fromEntries(own))
  expect(Object.keys(notes)).toHaveLength(4 * times)
  const versions = async () => (await store.list('memory', { limit: 1_000 })).items.map(({ version }) => version)
  const before = await versions()
  expect(before.filter((version) => version === 3)).toHaveLength(times)
  // A repetition, as after a crash: each change is already known.
  await child('b')
  expect([await versions(), await everyNote(memories, user)]).toEqual([before, notes])
}

/** Checks searches in any store, for notes saved by either process. */
async function findAll(store: StateStore, other: StateStore, text: 'scan' | 'tsvector'): Promise<void> {
  const [memories, elsewhere] = [createMemories({ store }), createMemories({ store: other })]
  expect(memories.capabilities).toEqual({ text, vectors: 'none' })
  await memories.save(alice, { key: 'one', text: 'Likes BLUE cars, and Crème brûlée.' })
  await elsewhere.save(alice, { key: 'two', text: "It's 3.14 & 'blue' | ! <-> \\ :* 東京" })
  await elsewhere.save(bob, { key: 'three', text: 'Blue.' })
  for (const searched of [memories, elsewhere]) {
    const found = async (words: string): Promise<readonly string[]> => keysOf(await searched.search(alice, words)).toSorted()
    expect(await found('blue')).toEqual(['one', 'two'])
    expect(await found('creme')).toEqual(['one'])
    expect(await found("it's 東")).toEqual(['two'])
    expect(await found('3.14')).toEqual(['two'])
    expect(await found(':* | & ! \\')).toEqual([])
  }
  expect(await elsewhere.remove(alice, 'one')).toBe(true)
  expect(keysOf(await memories.search(alice, 'blue'))).toEqual(['two'])
  expect(await memories.forget({ tenant: 'acme' }, { below: true })).toBe(2)
  expect(keysOf((await elsewhere.list(bob)).items)).toEqual([])
}

describe.skipIf(isRedisUrlMissing)(titleWithRedis('memories on a shared store', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)
  const openRedis = redisStores(() => redis.url)

  it('A193, A195: notes of other processes are found on redis', async () => {
    const prefix = newPrefix()
    await findAll(openRedis({ prefix }), openRedis({ prefix }), 'scan')
  })

  it('A193, A195: notes of other processes are found on kv', async () => {
    const prefix = newPrefix()
    await findAll(kv.open({ prefix }), kv.open({ prefix }), 'scan')
  })

  it('A194: three processes that save at the same time lose nothing and repeat nothing, on redis', async () => {
    const prefix = newPrefix()
    await saveAtOnce({ kind: 'redis', url: redis.url, prefix }, openRedis({ prefix }), 'carol')
  })

  it('A194: three processes that save at the same time lose nothing and repeat nothing, on kv', async () => {
    const prefix = newPrefix()
    await saveAtOnce({ kind: 'kv', url: kv.server.url, token: kv.server.token, prefix }, kv.open({ prefix }), 'carol')
  })
})

describe('memories on postgres', () => {
  const database = testDatabase()

  it('A193, A195: notes of other processes are found', async () => {
    const [one, two] = [postgresStateStore({ connectionString: database.url }), postgresStateStore({ connectionString: database.url })]
    await findAll(one, two, 'tsvector')
    await Promise.all([one.close(), two.close()])
  })

  it('A194: three processes that save at the same time lose nothing and repeat nothing', async () => {
    const store = postgresStateStore({ connectionString: database.url })
    await saveAtOnce({ kind: 'postgres', connectionString: database.url }, store, 'carol')
    await store.close()
  })
})
