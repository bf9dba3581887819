import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { SessionError } from '@bowline/sessions'
import { decodeHints } from '../src/store/hint-format.ts'
import type { Hint } from '../src/store/hint-format.ts'
import { HintListener } from '../src/store/hint-listener.ts'
import { HintSender } from '../src/store/hint-sender.ts'
import type { Queries } from '../src/store/pg-session.ts'
import { channelOf } from '../src/store/process-table.ts'
import { SessionConnection } from '../src/store/session-connection.ts'
import { ask, clientsFor, placeOf, queriesOf } from './clients.ts'

const database = testDatabase()
const opened: SessionConnection[] = []

afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close()
})

function hintOf(key: string, rest: Partial<Hint> = {}): Hint {
  return { key, seq: undefined, wake: false, deltas: false, ...rest }
}

/** Creates a sender whose batches are listed, each once it is let through. */
function listed() {
  const clock = manualClock(1000)
  const batches: (readonly Hint[] | undefined)[] = []
  const errors: unknown[] = []
  const waiting: { resolve: () => void; reject: (error: unknown) => void }[] = []
  let isHeld = false
  const queries: Queries = {
    async query(_text, [, payloads] = []) {
      const decoded = (payloads as string[]).map(decodeHints)
      batches.push(decoded.some((each) => !each?.hints) ? undefined : decoded.flatMap((each) => each?.hints ?? []))
      if (isHeld) await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }))
      return []
    },
  }
  const sender = new HintSender({ channel: 'c', sender: 'a', clock, queries, onError: (error) => void errors.push(error) })
  return { clock, batches, errors, waiting, sender, hold: (held: boolean) => void (isHeld = held) }
}

describe('sending hints', () => {
  it('S187: the first one is sent at once, and those of the next 10 ms together, one for each key', async () => {
    const { clock, batches, sender } = listed()
    sender.tell(hintOf('a', { seq: 1 }))
    await clock.advance(0)
    expect(batches).toEqual([[hintOf('a', { seq: 1 })]])
    sender.tell(hintOf('a', { seq: 2 }))
    await clock.advance(5)
    for (const hint of [hintOf('a', { seq: 4, wake: true }), hintOf('b', { deltas: true }), hintOf('a', { seq: 3 })]) sender.tell(hint)
    await clock.advance(4)
    expect(batches).toHaveLength(1)
    await clock.advance(1)
    expect(batches[1]).toEqual([hintOf('a', { seq: 4, wake: true }), hintOf('b', { deltas: true })])
    expect(clock.pendingTimers).toBe(0)
  })

  it('S187: while a batch is being sent the next one gathers, and none overtakes it', async () => {
    const { clock, batches, waiting, sender, hold } = listed()
    hold(true)
    sender.tell(hintOf('a', { seq: 1 }))
    await clock.advance(0)
    for (let seq = 2; seq <= 500; seq++) {
      sender.tell(hintOf('a', { seq }))
      await clock.advance(1)
    }
    expect([batches.length, clock.pendingTimers]).toEqual([1, 0])
    waiting[0]?.resolve()
    await clock.advance(20)
    expect(batches.slice(1)).toEqual([[hintOf('a', { seq: 500 })]])
  })

  it('S187: hints of more than 10,000 keys become one hint to read everything', async () => {
    const { clock, batches, sender } = listed()
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n <= 10_000; n++) sender.tell(hintOf(`key-${n}`))
      sender.tell(hintOf('one more'))
      await clock.advance(10)
      expect(batches.splice(0)).toEqual([undefined])
      sender.tell(hintOf('a'))
      await clock.advance(10)
      expect(batches.splice(0)).toEqual([[hintOf('a')]])
    }
  })

  it('S187: the send times of the newest 64 batches are known', async () => {
    const { clock, sender } = listed()
    for (let batch = 1; batch <= 200; batch++) {
      sender.tell(hintOf('a'))
      await clock.advance(10)
      expect([sender.ageOf(batch) === undefined, sender.ageOf(batch - 63) === undefined, sender.ageOf(batch - 64)]).toEqual([
        false,
        batch < 64,
        undefined,
      ])
    }
  })

  it('S187: hints that failed are followed a second later by one hint to read everything, and reported once', async () => {
    const { clock, batches, errors, waiting, sender, hold } = listed()
    hold(true)
    sender.tell(hintOf('a', { seq: 1 }))
    await clock.advance(0)
    waiting[0]?.reject(new SessionError('store-unavailable', 'gone'))
    await clock.advance(999)
    sender.tell(hintOf('b'))
    expect(batches).toHaveLength(1)
    await clock.advance(1)
    waiting[1]?.reject(new SessionError('store-unavailable', 'gone'))
    hold(false)
    await clock.advance(1000)
    expect(batches.slice(1)).toEqual([undefined, undefined])
    expect([errors.length, sender.counts]).toEqual([1, { batches: 3, sent: 1, failed: 2 }])
    sender.tell(hintOf('a', { seq: 3 }))
    await clock.advance(10)
    expect(batches.at(-1)).toEqual([hintOf('a', { seq: 3 })])
  })

  it('S187: a clock that is set back delays hints by no more than 10 ms', async () => {
    const { clock, batches, sender } = listed()
    sender.tell(hintOf('a'))
    await clock.advance(0)
    await clock.advance(-900)
    sender.tell(hintOf('b'))
    await clock.advance(10)
    expect(batches).toHaveLength(2)
  })

  it('S193: they are sent before the sender is closed, and none after that', async () => {
    const { clock, batches, sender } = listed()
    sender.tell(hintOf('a'))
    await clock.advance(0)
    sender.tell(hintOf('b'))
    await sender.close()
    expect(batches.slice(1)).toEqual([[hintOf('b')]])
    sender.tell(hintOf('c'))
    expect(clock.pendingTimers).toBe(0)
  })
})

/** Creates a process that listens, and sends on its own connection. */
async function listen(namespace: string, sender: string) {
  const place = placeOf(database.url)
  const channel = channelOf({ schema: 'bowline', namespace })
  const hints: Hint[] = []
  const happened: string[] = []
  const own: number[] = []
  const errors: unknown[] = []
  const listener = new HintListener({
    channel,
    sender,
    onHint: (hint) => void hints.push(hint),
    onGap: () => void happened.push('gap'),
    onOwn: (batch) => void own.push(batch),
    onError: (error) => void errors.push(error),
  })
  const connection = new SessionConnection({
    newClient: clientsFor(place),
    clock: systemClock,
    random: () => 0,
    users: [listener],
    onError: () => undefined,
    onPooler: () => undefined,
  })
  opened.push(connection)
  await connection.open()
  const out = new HintSender({
    channel,
    sender,
    clock: systemClock,
    queries: queriesOf(place),
    onError: (error) => void errors.push(error),
  })
  return { connection, listener, sender: out, channel, hints, happened, own, errors }
}

describe('hints on a server', () => {
  it('S173, S187: reach the other processes of the namespace, and the sender gets them as its own', async () => {
    const [a, b, other] = [await listen('default', 'a'), await listen('default', 'b'), await listen('other', 'c')]
    const keys = ['room:1', 'Room:1/user@x.y+z=~agent~sub_-1', 'k'.repeat(700)]
    for (const key of keys) a.sender.tell(hintOf(key, { seq: 2 ** 53 - 1, wake: true, deltas: true }))
    await expect.poll(() => b.hints).toHaveLength(3)
    expect(b.hints).toEqual(keys.map((key) => ({ key, seq: 2 ** 53 - 1, wake: true, deltas: true })))
    await expect.poll(() => a.own).toEqual([1])
    expect([a.hints, other.hints, b.own]).toEqual([[], [], []])
    expect([b.listener.counts, other.listener.counts]).toEqual([
      { received: 3, gaps: 1 },
      { received: 0, gaps: 1 },
    ])
  })

  it('S187: of many keys come in several notifications, and none is lost', async () => {
    const [a, b] = [await listen('many', 'a'), await listen('many', 'b')]
    const keys = Array.from({ length: 2000 }, (_, n) => `${'long-'.repeat(20)}${n}`)
    for (const key of keys) a.sender.tell(hintOf(key, { seq: 1 }))
    await vi.waitFor(() => expect(b.hints).toHaveLength(keys.length), { timeout: 10_000 })
    expect(b.hints.map(({ key }) => key)).toEqual(keys)
  })

  it('S173: a lost LISTEN connection is opened again, and one gap is reported', async () => {
    const b = await listen('lost', 'b')
    const a = await listen('lost', 'a')
    expect(b.happened).toEqual(['gap'])
    const [row] = await b.connection.query<{ pid: number }>('select pg_backend_pid() as pid')
    await ask(placeOf(database.url), 'select pg_terminate_backend($1)', [row?.pid])
    await vi.waitFor(() => expect(b.happened).toEqual(['gap', 'gap']), { timeout: 5000 })
    a.sender.tell(hintOf('room:1', { seq: 3 }))
    await expect.poll(() => b.hints).toEqual([hintOf('room:1', { seq: 3 })])
    expect(b.happened).toEqual(['gap', 'gap'])
  })

  it('S187: an unreadable hint is a gap, and a listener that throws ends nothing', async () => {
    const b = await listen('broken', 'b')
    await ask(placeOf(database.url), 'select pg_notify($1, $2)', [b.channel, '9 something new'])
    await expect.poll(() => b.happened).toEqual(['gap', 'gap'])
    b.hints.push = () => {
      throw new Error('full')
    }
    await ask(placeOf(database.url), 'select pg_notify($1, $2)', [b.channel, '1 a 1\nroom:1 7 w'])
    await expect.poll(() => b.errors).toMatchObject([{ message: 'full' }])
    expect(b.connection.state).toBe('open')
  })

  it('S187: the channel name fits, and differs by schema and namespace', () => {
    const scopes = [
      ['a', 'bc'],
      ['ab', 'c'],
      ['s'.repeat(63), 'n'.repeat(63)],
    ].map(([schema = '', namespace = '']) => channelOf({ schema, namespace }))
    expect(new Set(scopes).size).toBe(3)
    for (const channel of scopes) expect(channel).toMatch(/^[a-z_0-9]{1,62}$/)
  })
})
