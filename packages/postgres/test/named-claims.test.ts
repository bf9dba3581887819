import { systemClock } from '@bowline/llm'
import type { SessionStore, Write } from '@bowline/sessions'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ClaimRequest } from '@bowline/sessions'
import { postgresPlace } from './place.ts'

const keys = ['room:1', 'room:2', 'room:3']
/** A claim waits this long for a named session. */
const longestWaitMs = 250

describe('claims on Postgres while other processes write', () => {
  const place = postgresPlace()
  let store: SessionStore
  let writer: pg.Client
  beforeEach(async () => {
    store = await place.empty(place.shared(false))
    await store.open({ namespace: 'default', owner: 'claimer', clock: systemClock })
    for (const [at, key] of keys.entries()) {
      const writes: Write[] = [
        { op: 'session.ensure', session: { id: key, agent: 'assistant', metadata: {}, at } },
        { op: 'run.insert', run: { id: `run of ${key}`, kind: 'user', inputHash: 'hash', input: 'hello', at } },
      ]
      await store.commit({ id: key, key, expect: [], writes })
    }
    writer = new pg.Client({ connectionString: place.url })
    await writer.connect()
    await beginWrite()
  })
  afterEach(async () => {
    await writer.end()
    await store.close()
  })

  async function claimed(fields: Partial<ClaimRequest>): Promise<readonly string[]> {
    const claims = await store.claim({
      owner: 'claimer',
      max: 10,
      leaseMs: 60_000,
      agents: ['assistant'],
      holds: ['run of room:2', 'run of room:3'],
      ...fields,
    })
    return claims.map(({ session }) => session.key)
  }

  /** Locks the first session, as a write does. */
  function beginWrite(): Promise<unknown> {
    return writer.query(`begin; select 1 from bowline.session where key = 'room:1' for no key update`)
  }

  /** Commits 100 ms from now. */
  function endWrite(): Promise<unknown> {
    return writer.query('select pg_sleep(0.1); commit')
  }

  it('S55, S183: a locked session that is not named is skipped, and can be claimed the next time', async () => {
    expect(await claimed({ max: 2 })).toEqual(['room:2', 'room:3'])
    await endWrite()
    expect(await claimed({ max: 2 })).toEqual(['room:1'])
  })

  it.each([
    { others: false, expected: ['room:1', 'room:3'] },
    { others: true, expected: ['room:1', 'room:2', 'room:3'] },
  ])('S55, S183: a claim waits for a named session until the write to it ends, with others: $others', async ({ others, expected }) => {
    const all: string[] = []
    while (!all.includes('room:1')) {
      const ended = endWrite()
      const before = performance.now()
      all.push(...(await claimed({ keys: ['room:3', 'room:1'], others })))
      // On a slow machine the write lasts longer than a claim waits for it.
      if (!all.includes('room:1')) expect(performance.now() - before).toBeGreaterThanOrEqual(longestWaitMs)
      await ended
      await beginWrite()
    }
    expect(all.toSorted()).toEqual(expected)
  })

  it('S183, S185: a write that does not end, such as one of a frozen process, holds back no other session', async () => {
    expect(await claimed({ keys: ['room:3', 'room:1'] })).toEqual(['room:3'])
    expect(await claimed({ keys: ['room:1'], others: true })).toEqual(['room:2'])
    await endWrite()
    expect(await claimed({ keys: ['room:1'] })).toEqual(['room:1'])
  })
})
