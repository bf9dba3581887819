import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import type { NoticeQuery, NoticeRecord, SessionRecord } from '@bowline/sessions'
import type { MemoryStore } from '../../src/memory.ts'
import { newHeld } from '../../src/stores/memory/held-session.ts'
import type { HeldSession } from '../../src/stores/memory/held-session.ts'
import { findNotices, noticeLists } from '../../src/stores/memory/notice-lists.ts'
import { readsOf } from '../../src/stores/memory/reads.ts'
import { SessionLists } from '../../src/stores/memory/session-lists.ts'
import { newSpace } from '../../src/stores/memory/space.ts'
import { firstNumbers, newSession } from '../../src/stores/rules.ts'
import { sessionLists, tenant } from './session-lists.ts'
import { testWholeKit } from './whole-kit.ts'

describe('S177: the kit over the memory store', () => {
  testWholeKit({
    name: 'memory',
    create: async () => memoryStore(),
    reopen: async (store) => store,
    second: async (store) => (store as MemoryStore).second(),
    limitsRecords: false,
    loss: 'lease',
    exceptions: [
      'S49: a record beyond the limit is refused before anything is written',
      'S54: the bytes of a commit after 1,000 others are those after 20',
    ],
  })
})

it('S181: its content ends with it, as its capabilities say; no record is too long for it', async () => {
  const clock = manualClock()
  const [store, other] = [memoryStore(), memoryStore()]
  for (const each of [store, other]) await each.open({ namespace: 'default', clock, owner: 'owner-a' })
  expect(store.capabilities).toEqual({ durable: 'none', processes: 'one', maxRecordBytes: Number.MAX_SAFE_INTEGER })
  const metadata = { long: 'x'.repeat(17 * 1024 * 1024) }
  const session = { id: 'first', agent: 'assistant', metadata, at: 0 }
  expect(await store.commit({ id: 'batch', key: 'room:1', expect: [], writes: [{ op: 'session.ensure', session }] })).toMatchObject({
    ok: true,
  })
  expect(await other.readSession('room:1')).toEqual({ status: 'missing' })
  for (const each of [store, other]) await each.close()
})

/** Returns a session. Few are of the tenant, fewer of the agent, of the parent, with the status, without one or expired. */
function listedSession(n: number): SessionRecord {
  const key = n % 50 < 2 ? `${tenant}${n}` : `tenant:b${n % 7}:s:${n}`
  const parents = { ...(n % 2 === 1 && { parent: n % 50 === 1 ? `${tenant}a` : 'other' }) }
  const session = { id: `id-${n}`, agent: n % 100 < 2 ? 'assistant' : 'other', metadata: {}, at: n, ...parents }
  const status = n % 100 === 0 ? 'waiting-for-user' : 'completed'
  return { ...newSession(key, session, firstNumbers), ...(n % 100 !== 2 && { status }), ...(n % 100 === 50 && { expiredAt: n }) }
}

const noticeQueries: readonly NoticeQuery[] = [
  {},
  { state: 'failed' },
  { hook: 'rare' },
  { state: 'failed', hook: 'rare' },
  { key: 'room:7' },
]

/** Few notices are of the hook, fewer of the session, and the oldest have failed. */
function listedNotice(n: number): NoticeRecord {
  const session = n % 60 === 7 ? 'room:7' : `room:${n}:x`
  const state = n <= 1500 ? 'failed' : 'delivered'
  return {
    id: `id-${session}.${n}`,
    session,
    n,
    hook: n % 30 === 7 ? 'rare' : 'usual',
    type: 'settled',
    at: n,
    body: {},
    state,
    attempts: 1,
    queuedAt: n,
  }
}

describe('lists in memory', () => {
  it('S54: the newest call with an id is found without a search', async () => {
    const space = newSpace()
    const held = newHeld(listedSession(1))
    space.sessions.set('room:1', held)
    const search = vi.spyOn(held.calls, 'values')
    expect(
      await readsOf(
        () => space,
        () => 0,
      ).readCall('room:1', 'unknown'),
    ).toEqual({ status: 'missing' })
    expect(search).not.toHaveBeenCalled()
  })

  it.each(noticeQueries)('S54: a page of notices by %j is read in the order of a list', (query) => {
    const lists = noticeLists()
    let reads = 0
    for (let n = 1; n <= 3000; n++) {
      const notice = listedNotice(n)
      lists.add(Object.defineProperty(notice, 'hook', { get: () => ((reads += 1), n % 30 === 7 ? 'rare' : 'usual') }))
    }
    for (const after of [undefined, { at: 1400, sessionId: '', n: 1 }]) {
      reads = 0
      const found: number[] = []
      for (const { n } of findNotices(lists, query, after)) if (found.push(n) === 10) break
      const all = Array.from({ length: 3000 }, (_, index) => listedNotice(3000 - index))
      const wanted = all.filter(
        ({ session, state, hook, at }) => at < (after?.at ?? Infinity) && matches(query, { key: session, state, hook }),
      )
      expect(found).toEqual(wanted.slice(0, 10).map(({ n }) => n))
      expect(reads).toBeLessThanOrEqual(2 * 10)
    }
  })

  it.each(sessionLists)('S54: a page of sessions %s is read in the order of a list', (_title, _index, query) => {
    const lists = new SessionLists()
    let reads = 0
    for (let n = 1; n <= 3000; n++) {
      const record = listedSession(n)
      const held = {
        timers: new Map(),
        get record() {
          reads += 1
          return record
        },
      }
      lists.update(record.key, held as HeldSession)
    }
    for (const place of [{}, { page: '1500:x' }]) {
      reads = 0
      expect(lists.find({ ...query, ...place }, 0, 10, [])).toHaveLength(10)
      // At most four parts of a list.
      expect(reads).toBeLessThanOrEqual(4 * 11)
    }
  })
})

function matches(query: NoticeQuery, facts: NoticeQuery): boolean {
  return Object.entries(query).every(([name, value]) => Reflect.get(facts, name) === value)
}
