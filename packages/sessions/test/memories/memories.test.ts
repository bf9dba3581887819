import { manualClock } from '@bowline/llm/testing'
import { createMemories, memoryStateStore, SessionError, type MemoryScope, type StateStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { watchedStore } from '../orchestration/support.ts'
import { alice, bob, collect, keysOf, kinds, openStores, startMs } from './support.ts'

const open = openStores()

async function setup(kind: (typeof kinds)[number] = 'memory') {
  const clock = manualClock(startMs)
  const store = await open(kind, clock)
  return { clock, store, memories: createMemories({ store, clock }) }
}

/** Returns every record of the store, as text. */
async function contents(store: StateStore): Promise<string> {
  return JSON.stringify((await store.list('memory', { limit: 1_000 })).items)
}

describe.each(kinds)('memories in %s', (kind) => {
  it('A193: a note is stored with its origin and its times, and is replaced under its key', async () => {
    const { clock, memories } = await setup(kind)
    const origin = { sessionKey: 'room:1', runId: 'run-1', toolCallId: 'call-1' }
    const saved = await memories.save(alice, { key: 'colour', text: 'Likes blue.', tags: ['taste'] }, { origin })
    expect(saved).toEqual({
      scope: alice,
      key: 'colour',
      text: 'Likes blue.',
      tags: ['taste'],
      createdAt: startMs,
      updatedAt: startMs,
      origin,
    })
    expect(await memories.get(alice, 'colour')).toEqual(saved)
    await clock.advance(5)
    await memories.save(alice, { key: 'colour', text: 'Likes green.' })
    expect(await memories.get(alice, 'colour')).toEqual({
      scope: alice,
      key: 'colour',
      text: 'Likes green.',
      tags: [],
      createdAt: startMs,
      updatedAt: startMs + 5,
      origin: {},
    })
    expect(await memories.list(alice)).toEqual({ items: [await memories.get(alice, 'colour')] })
  })

  it('A193: scopes never see each other, whatever their values contain', async () => {
    const { memories } = await setup(kind)
    const scopes: readonly MemoryScope[] = [
      ...[
        { tenant: 'a' },
        { user: 'a' },
        { agent: 'a' },
        { tenant: 'a', user: 'a' },
        { tenant: 'a', agent: 'a' },
        { user: 'a', agent: 'a' },
      ],
      ...[
        { tenant: 'a', user: 'b:c' },
        { tenant: 'a:b', user: 'c' },
        { tenant: 'a.ub' },
        { tenant: 'a', user: 'b.ac' },
        { tenant: 'a', user: 'b', agent: 'c' },
        { tenant: 'A' },
      ],
    ]
    for (const [place, scope] of scopes.entries()) await memories.save(scope, { key: 'mine', text: `Note of number${place}.` })
    for (const [place, scope] of scopes.entries()) {
      const text = `Note of number${place}.`
      expect((await memories.list(scope)).items.map((note) => note.text)).toEqual([text])
      expect((await memories.get(scope, 'mine'))?.text).toBe(text)
      expect((await memories.search(scope, 'note', { limit: 100 })).map((note) => note.text)).toEqual([text])
      expect(await memories.search(scope, `number${(place + 1) % scopes.length}x`)).toEqual([])
    }
    const [first, ...others] = scopes
    expect(await memories.forget(first ?? {})).toBe(1)
    for (const scope of others) expect(await memories.get(scope, 'mine')).not.toBeNull()
  })

  it('A195: search finds the same in every store: case, accents and ends of words do not matter, more words come first, then the newest', async () => {
    const { clock, memories } = await setup(kind)
    const texts = {
      one: 'The user’s favourite colour is BLUE.',
      two: 'Favourite dish: Crème brûlée.',
      three: 'ユーザーは東京に住んでいる',
      four: 'Ships at 3.14 € over https://example.org/a_b, "quoted" OR not * ( AND:',
      five: 'A blue whale.',
    }
    for (const [key, text] of Object.entries(texts)) {
      await memories.save(alice, { key, text, tags: key === 'two' ? ['desserts'] : [] })
      await clock.advance(1)
    }
    await memories.save(bob, { key: 'six', text: 'Blue and favourite.' })
    const found = async (text: string): Promise<readonly string[]> => keysOf(await memories.search(alice, text))
    expect(await found('blue')).toEqual(['five', 'one'])
    expect(await found('favourite BLUE')).toEqual(['one', 'five', 'two'])
    expect(await found('fav')).toEqual(['two', 'one'])
    expect(await found('creme BRULEE')).toEqual(['two'])
    expect(await found('dessert')).toEqual(['two'])
    expect(await found('東京')).toEqual(['three'])
    expect(await found('three')).toEqual(['three'])
    for (const text of ['3.14', 'a_b', '"quoted"', 'or', 'AND', 'example.org']) expect(await found(text), text).toContain('four')
    expect(await found('avourite')).toEqual([])
    expect(await found('"*:()')).toEqual([])
    expect(keysOf(await memories.search(alice, 'blue', { limit: 1 }))).toEqual(['five'])
  })

  it('A194: one note can be removed, and a scope can be forgotten with everything known of it', async () => {
    const { store, memories } = await setup(kind)
    for (const key of ['a', 'b', 'c']) await memories.save(alice, { key, text: `Secret ${key}.` })
    await memories.save(bob, { key: 'a', text: 'Of bob.' })
    expect([await memories.remove(alice, 'a'), await memories.remove(alice, 'a'), await memories.remove(alice, 'none')]).toEqual([
      true,
      false,
      false,
    ])
    expect(await memories.get(alice, 'a')).toBeNull()
    expect(await memories.search(alice, 'secret a')).toHaveLength(2)
    expect(await contents(store)).not.toMatch(/Secret a/)
    expect(await memories.forget(alice)).toBe(2)
    expect(await memories.list(alice)).toEqual({ items: [] })
    expect(await memories.search(alice, 'secret')).toEqual([])
    expect((await store.list('memory', {})).items).toHaveLength(1)
    expect(await memories.get(bob, 'a')).not.toBeNull()
    expect(await memories.forget(alice)).toBe(0)
  })

  it('A194: the notes below a scope are exported and forgotten only if the caller asks for it', async () => {
    const { memories } = await setup(kind)
    const scopes = [{ tenant: 'acme' }, alice, { ...alice, agent: 'cook' }, bob, { tenant: 'acme2' }, { user: 'alice' }]
    for (const scope of scopes) await memories.save(scope, { key: 'a', text: 'x' })
    const exported = async (scope: MemoryScope, below?: boolean) =>
      (await collect(memories.export(scope, below === undefined ? {} : { below }))).map((note) => note.scope)
    expect(await exported(alice)).toEqual([alice])
    expect(await exported(alice, true)).toEqual(expect.arrayContaining([alice, { ...alice, agent: 'cook' }]))
    expect(await exported({ tenant: 'acme' }, true)).toHaveLength(4)
    expect(await memories.forget({ tenant: 'acme' }, { below: false })).toBe(1)
    expect(await memories.forget({ tenant: 'acme' }, { below: true })).toBe(3)
    expect([await exported({ tenant: 'acme2' }), await exported({ user: 'alice' })]).toEqual([[{ tenant: 'acme2' }], [{ user: 'alice' }]])
  })

  it('A193: pages list all notes of a scope, also after removed ones, and never reach another scope', async () => {
    const { memories } = await setup(kind)
    for (let n = 0; n < 25; n++) {
      await memories.save(alice, { key: `key-${n}`, text: 'x' })
      await memories.save(bob, { key: `key-${n}`, text: 'x' })
    }
    for (let n = 0; n < 10; n++) await memories.remove(alice, `key-${n}`)
    const keys: string[] = []
    let page: string | undefined
    do {
      const found = await memories.list(alice, { limit: 4, ...(page !== undefined && { page }) })
      keys.push(...keysOf(found.items))
      page = found.next
    } while (page !== undefined)
    expect(keys.toSorted()).toEqual(Array.from({ length: 15 }, (_, n) => `key-${n + 10}`).toSorted())
    expect((await memories.list(alice, { page: 'zzz' })).items).toEqual([])
  })

  it('A194: a note lives for the configured ttlMs', async () => {
    const { clock, store } = await setup(kind)
    const memories = createMemories({ store, clock, ttlMs: 1_000 })
    await memories.save(alice, { key: 'a', text: 'Short lived.' })
    await clock.advance(999)
    expect(await memories.search(alice, 'short')).toHaveLength(1)
    await clock.advance(1)
    expect([await memories.get(alice, 'a'), await memories.search(alice, 'short'), (await memories.list(alice)).items]).toEqual([
      null,
      [],
      [],
    ])
  })
})

describe('a repeated change', () => {
  it('A194: is made once, even if the note was changed or removed in the meantime', async () => {
    const { memories } = await setup()
    const first = { idempotencyKey: 'call-1' }
    await memories.save(alice, { key: 'a', text: 'one' }, first)
    await memories.save(alice, { key: 'a', text: 'two' })
    expect(await memories.save(alice, { key: 'a', text: 'one' }, first)).toMatchObject({ text: 'two' })
    const removal = { idempotencyKey: 'call-2' }
    expect(await memories.remove(alice, 'a', removal)).toBe(true)
    await memories.save(alice, { key: 'a', text: 'one' }, first)
    expect(await memories.get(alice, 'a')).toBeNull()
    await memories.save(alice, { key: 'a', text: 'three' })
    expect(await memories.remove(alice, 'a', removal)).toBe(true)
    expect(await memories.get(alice, 'a')).toMatchObject({ text: 'three' })
  })

  it('A194: without a key the same text is the same note', async () => {
    const { memories } = await setup()
    const saved = await memories.save(alice, { text: 'Likes tea.' })
    expect(saved.key).toMatch(/^note-[\w-]{12}$/)
    expect((await memories.save(alice, { text: 'Likes tea.' })).key).toBe(saved.key)
    await memories.save(alice, { text: 'Likes coffee.' })
    expect((await memories.list(alice)).items).toHaveLength(2)
  })

  it('A194: after a lost answer the store is asked, and a write that was not made is reported', async () => {
    const inner = memoryStateStore()
    let lose: 'before' | 'after' | undefined = 'after'
    const store = watchedStore(inner, (call, when) => {
      if (call !== 'compareAndSet' || when !== lose) return
      lose = undefined
      throw new SessionError('store-unavailable', 'away')
    })
    const memories = createMemories({ store })
    expect(await memories.save(alice, { key: 'a', text: 'kept' })).toMatchObject({ text: 'kept' })
    lose = 'before'
    await expect(memories.save(alice, { key: 'b', text: 'lost' })).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(keysOf((await memories.list(alice)).items)).toEqual(['a'])
  })

  it('A194: if many writers change one note at the same time, each write is made, and the last one stays', async () => {
    const { store, memories } = await setup()
    const others = [memories, createMemories({ store }), createMemories({ store })]
    await Promise.all(
      others.flatMap((each, place) => Array.from({ length: 16 }, (_, n) => each.save(alice, { key: 'a', text: `text ${place}-${n}` }))),
    )
    const [record] = (await store.list('memory', {})).items
    expect(record?.version).toBe(48)
  })
})

describe('limits of memories', () => {
  it('A194: a note of 10 MB is refused with its size, and the note under its key stays', async () => {
    const { memories } = await setup()
    await memories.save(alice, { key: 'a', text: 'small' })
    await expect(memories.save(alice, { key: 'a', text: 'x'.repeat(10 * 1024 * 1024) })).rejects.toMatchObject({
      code: 'entry-too-large',
      message: expect.stringMatching(/at most 4096 bytes; this one has 10485760/) as string,
    })
    await expect(memories.save(alice, { text: 'ä'.repeat(2_049) })).rejects.toMatchObject({ code: 'entry-too-large' })
    await memories.save(alice, { key: 'b', text: 'ä'.repeat(2_048) })
    expect(await memories.get(alice, 'a')).toMatchObject({ text: 'small' })
  })

  it.each(kinds)(
    'A194: a note beyond the limit is refused in %s, removed notes do not count, and existing notes can be changed',
    async (kind) => {
      const { store } = await setup(kind)
      const memories = createMemories({ store, maxNotes: 3 })
      for (const key of ['a', 'b', 'c']) await memories.save(alice, { key, text: key })
      await expect(memories.save(alice, { key: 'd', text: 'd' })).rejects.toMatchObject({
        code: 'store-full',
        message:
          'There are 3 notes in the scope of this tenant, user already, which is the limit. Nothing was saved: remove notes, or save under the key of one.',
      })
      await memories.save(alice, { key: 'a', text: 'changed' })
      await memories.remove(alice, 'b')
      await memories.save(alice, { key: 'd', text: 'd' })
      await memories.save(bob, { key: 'a', text: 'a' })
      expect((await memories.list(alice)).items).toHaveLength(3)
    },
  )

  it('A194: if the store has an index, the cost of a save does not grow with the notes of its scope', async () => {
    const { store } = await setup('sqlite')
    const calls: string[] = []
    const counted = {
      ...store,
      get: async (...given: Parameters<StateStore['get']>) => (calls.push('get'), store.get(...given)),
      list: async (...given: Parameters<StateStore['list']>) => (calls.push('list'), store.list(...given)),
    }
    const memories = createMemories({ store: counted })
    for (let n = 0; n < 30; n++) await memories.save(alice, { key: `key-${n}`, text: 'x' })
    await memories.search(alice, 'x')
    expect(new Set(calls)).toEqual(new Set(['get']))
    expect(calls).toHaveLength(30)
  })

  it('A193: a scope without a value is refused by its path, and nothing is written', async () => {
    const { store, memories } = await setup()
    const wrong: readonly [unknown, string][] = [
      [undefined, 'scope must be an object with tenant, user or agent; received undefined.'],
      [{}, 'scope must be an object with at least one of tenant, user and agent; received an object.'],
      [{ tenant: 'a', user: undefined }, 'scope.user must be a text of 1 to 200 bytes; received undefined.'],
      [{ user: null }, 'scope.user must be a text of 1 to 200 bytes; received null.'],
      [{ user: '' }, 'scope.user must be a text of 1 to 200 bytes; received an empty text.'],
      [{ user: '  ' }, 'scope.user must be a text of 1 to 200 bytes; received a text of 2 characters.'],
      [{ user: 'x'.repeat(201) }, 'scope.user must be a text of 1 to 200 bytes; received a text of 201 characters.'],
      [{ usr: 'a' }, 'scope has no option "usr"; did you mean user?'],
    ]
    for (const [scope, message] of wrong) {
      await expect(memories.save(scope as MemoryScope, { text: 'x' })).rejects.toMatchObject({ code: 'invalid-input', message })
      await expect(memories.forget(scope as MemoryScope)).rejects.toMatchObject({ code: 'invalid-input', message })
    }
    expect((await store.list('memory', {})).items).toEqual([])
  })

  it('A194: a damaged record is reported, and is removed when its scope is forgotten', async () => {
    const { store, memories } = await setup()
    await memories.save(alice, { key: 'a', text: 'x' })
    const [record] = (await store.list('memory', {})).items
    await store.compareAndSet(
      'memory',
      String(record?.id),
      1,
      { format: 1, changes: [], text: 'y', scope: bob, key: 'a', tags: [] },
      { ttlMs: 'never' },
    )
    await expect(memories.get(alice, 'a')).rejects.toMatchObject({ code: 'store-corrupt' })
    await store.compareAndSet('memory', String(record?.id), 2, { format: 2, changes: [] }, { ttlMs: 'never' })
    await expect(memories.get(alice, 'a')).rejects.toMatchObject({ code: 'schema-too-new' })
    await memories.forget(alice)
    expect((await store.list('memory', {})).items).toEqual([])
  })
})

describe('memories with an embedder', () => {
  const axes: Readonly<Record<string, readonly number[]>> = { cat: [1, 0.1, 0], kitten: [0.9, 0.2, 0], car: [0, 0.1, 1] }
  const embed = async (texts: readonly string[]) =>
    texts.map((text) => Object.entries(axes).find(([name]) => text.includes(name))?.[1] ?? [0, 1, 0])

  it('A195: finds notes with a near meaning beside notes with the words, and its capabilities say how', async () => {
    const { store } = await setup('sqlite')
    const memories = createMemories({ store, embed })
    expect(memories.capabilities).toEqual({ text: 'scan', vectors: 'scan' })
    for (const [key, text] of [
      ['a', 'Has a cat.'],
      ['b', 'Drives a car.'],
      ['c', 'Drives home.'],
    ] as const)
      await memories.save(alice, { key, text })
    expect(keysOf(await memories.search(alice, 'kitten', { limit: 1 }))).toEqual(['a'])
    expect(keysOf(await memories.search(alice, 'home', { limit: 1 }))).toEqual(['c'])
    await memories.save(alice, { key: 'a', text: 'Sold it: car.' })
    expect(keysOf(await memories.search(alice, 'kitten', { limit: 1 }))).not.toEqual(['a'])
    expect(Object.keys((await memories.get(alice, 'a')) ?? {})).not.toContain('vector')
  })

  it('A195: an embedder that fails or returns no vector makes the call fail, and nothing is saved', async () => {
    const { store } = await setup()
    const answers: readonly unknown[] = [[], [[]], [[Number.NaN]], 'x', [[1], [2]], undefined]
    for (const answer of answers) {
      const memories = createMemories({ store, embed: async () => answer as never })
      await expect(memories.save(alice, { text: 'x' })).rejects.toMatchObject({
        code: 'invalid-input',
        message: expect.stringMatching(/^embed\(\)/) as string,
      })
    }
    await expect(createMemories({ store, embed: () => Promise.reject(new Error('away')) }).save(alice, { text: 'x' })).rejects.toThrow(
      'away',
    )
    expect((await store.list('memory', {})).items).toEqual([])
  })

  it('A195: notes of another model, or without a vector, are found by their words', async () => {
    const { store } = await setup()
    await createMemories({ store }).save(alice, { key: 'a', text: 'Has a cat.' })
    await createMemories({ store, embed: async () => [[1, 2]] }).save(alice, { key: 'b', text: 'Has a cat too.' })
    expect(keysOf(await createMemories({ store, embed }).search(alice, 'cat')).toSorted()).toEqual(['a', 'b'])
  })
})

it('A195: capabilities say how a store finds words', async () => {
  const said = await Promise.all(kinds.map(async (kind) => createMemories({ store: await open(kind) }).capabilities))
  expect(said).toEqual([
    { text: 'scan', vectors: 'none' },
    { text: 'fts5', vectors: 'none' },
    { text: 'scan', vectors: 'none' },
  ])
})
