import { systemClock } from '@bowline/llm'
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { givenPool, poolQueries } from '../src/store/pool.ts'
import { placeOf } from './clients.ts'
import { postgresPlace } from './place.ts'
import { proxies } from './proxies.ts'

const place = postgresPlace()
const proxyOf = proxies()
afterEach(() => void vi.useRealTimers())

/** Fakes the timeouts of statements, and nothing else. */
function fakeTimeouts(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
}

describe('a server that stops answering without closing its connections', () => {
  it('S187: a hint that is not answered within 30 s fails, and the next one takes another connection', async () => {
    const proxy = await proxyOf(placeOf(place.url))
    const source = new pg.Pool({ ...proxy.place, max: 1 }).on('error', () => undefined)
    const pool = givenPool(source)
    const queries = poolQueries(pool)
    await queries.query('select 1 as one')
    proxy.silence()
    fakeTimeouts()
    const unanswered = expect(queries.query('select 2 as two')).rejects.toMatchObject({ code: 'store-unavailable' })
    await new Promise(setImmediate)
    await vi.advanceTimersByTimeAsync(30_000)
    await unanswered
    vi.useRealTimers()
    expect(await queries.query('select 3 as three')).toEqual([{ three: 3 }])
    await pool.close()
    await source.end()
  })

  it('S195: a read whose end is not answered within 30 s returns its connection, so that the store can be closed', async () => {
    const proxy = await proxyOf(placeOf(place.url))
    const source = new pg.Pool({ ...proxy.place, max: 1 }).on('error', () => undefined)
    let isReading = false
    const store = place.store({
      pool: {
        async connect() {
          const client = await source.connect()
          return {
            on: client.on.bind(client),
            removeListener: client.removeListener.bind(client),
            release: client.release.bind(client),
            set pipeline(isOn: boolean) {
              Object.assign(client, { pipeline: isOn })
            },
            query(query) {
              if (query.text !== 'commit' || !isReading) return client.query(query)
              isReading = false
              fakeTimeouts()
              proxy.silence()
              return client.query(query)
            },
          }
        },
        on: source.on.bind(source),
        removeListener: source.removeListener.bind(source),
      },
    })
    await store.open({ namespace: 'default', owner: 'a', clock: systemClock })
    isReading = true
    await store.readEvents('room:none', 0, 10)
    expect(isReading).toBe(false)
    await new Promise(setImmediate)
    await vi.advanceTimersByTimeAsync(30_000)
    vi.useRealTimers()
    await store.readEvents('room:none', 0, 10)
    await store.close()
    await source.end()
  })
})
