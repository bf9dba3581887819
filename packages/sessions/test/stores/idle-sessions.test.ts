import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { fileStore } from '../../src/file.ts'
import { memoryStore } from '../../src/memory.ts'
import type { NewRun, Write } from '../../src/store/batch.ts'
import type { ClaimRequest, SessionStore } from '../../src/store/contract.ts'
import { SessionFolder } from '../../src/stores/file/session-folder.ts'
import { claimRuns } from '../../src/stores/memory/claim.ts'
import { applyDelivery, commitBatch } from '../../src/stores/memory/commit.ts'
import { dueIn } from '../../src/stores/memory/due.ts'
import { newSpace } from '../../src/stores/memory/held-session.ts'
import type { HeldSession, Space } from '../../src/stores/memory/held-session.ts'
import { readsOf } from '../../src/stores/memory/reads.ts'
import { batch, ensure } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const idleSessions = 200
const request: ClaimRequest = { owner: 'owner-a', max: 1, leaseMs: 1000, agents: ['assistant'], holds: [] }

/** Counts each time that anything of an idle session is read, from wherever it is found. */
class CountedSessions extends Map<string, HeldSession> {
  looks = 0

  override set(key: string, held: HeldSession): this {
    if (!key.startsWith('idle')) return super.set(key, held)
    const look = (): void => void (this.looks += 1)
    return super.set(
      key,
      new Proxy(held, {
        get(target, name) {
          look()
          return Reflect.get(target, name) as unknown
        },
      }),
    )
  }
}

function counted(space: Space): CountedSessions {
  const sessions = new CountedSessions()
  Object.assign(space, { sessions })
  return sessions
}

const spaces: Readonly<Record<string, () => Space>> = {
  memory: () => newSpace(),
  file: () => new SessionFolder({ folder: newFolder(), fsync: false, maxRecordBytes: 1e6, now: () => 1 }).space,
}

function run(id: string, fields: Partial<NewRun> = {}): Write {
  return { op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at: 1, ...fields } }
}

/** Adds idle sessions of every sort: new, after a turn, with a TTL, with a parent. */
function fillWithIdle(space: Space): void {
  for (let n = 0; n < idleSessions; n++) {
    const key = `idle:${n}`
    const fields = [{}, {}, { settings: { ttl: { idleMs: 10_000 } } }, { parent: 'room:0' }][n % 4]
    const session = { id: key, agent: 'assistant', metadata: {}, at: 1, ...fields }
    const writes: Write[] = n % 4 === 1 ? [run(`${key} run`), { op: 'run.patch', runId: `${key} run`, patch: { status: 'aborted' } }] : []
    expect(commitBatch(space, batch(key, key, [{ op: 'session.ensure', session }, ...writes]), 1)).toMatchObject({ ok: true })
  }
}

describe.each(Object.entries(spaces))('idle sessions in the %s store', (_name, newOne) => {
  it('S54: a claim, what is due, a list of busy sessions and a commit look at no idle session', async () => {
    const space = newOne()
    const sessions = counted(space)
    fillWithIdle(space)
    sessions.looks = 0
    commitBatch(space, batch('one', 'room:1', [ensure('room:1'), run('run-1')]), 2)
    expect(claimRuns(space, request, 3)).toMatchObject([{ run: { id: 'run-1' } }])
    expect(dueIn(space, 4, 100)).toEqual({ timers: [], expired: [], unread: [], nextAt: 10_001 })
    const reads = readsOf(() => space, () => 4)
    expect((await reads.listSessions({ status: 'busy' })).items.map(({ key }) => key)).toEqual(['room:1'])
    expect((await reads.listSessions({ parent: 'room:1' })).items).toEqual([])
    commitBatch(space, batch('two', 'room:1', [{ op: 'session.delete', at: 5 }]), 5)
    expect(claimRuns(space, request, 6)).toEqual([])
    expect(sessions.looks).toBe(0)
  })

  it('S54: what is due names the sessions whose time has come, and looks at no other', () => {
    const space = newOne()
    const sessions = counted(space)
    fillWithIdle(space)
    const late = { id: 'late', agent: 'assistant', metadata: {}, at: 1, settings: { ttl: { maxAgeMs: 50 } } }
    commitBatch(space, batch('late', 'room:2', [{ op: 'session.ensure', session: late }]), 1)
    const timer = { id: 'timer', kind: 'deadline', dueAt: 40, body: {} } as const
    commitBatch(space, batch('timer', 'room:3', [ensure('room:3'), { op: 'timer.put', timers: [timer] }]), 1)
    sessions.looks = 0
    expect(dueIn(space, 39, 100).nextAt).toBe(40)
    expect(dueIn(space, 51, 100)).toMatchObject({ timers: [{ id: 'timer' }], expired: ['room:2'], nextAt: 51 })
    commitBatch(space, batch('marked', 'room:2', [{ op: 'session.expire' }]), 51)
    commitBatch(space, batch('fired', 'room:3', [{ op: 'timer.drop', ids: ['timer'] }]), 51)
    expect(dueIn(space, 60, 100)).toMatchObject({ timers: [], expired: [], nextAt: 10_001 })
    expect(sessions.looks).toBe(0)
  })

  it('S34: a refused batch leaves what is found as it was', () => {
    const space = newOne()
    commitBatch(space, batch('one', 'room:1', [ensure('room:1'), run('run-1')]), 1)
    const before = dueIn(space, 1, 10)
    const refused = { ...batch('two', 'room:1', [{ op: 'session.delete', at: 2 }, ensure('room:1'), { op: 'run.patch', runId: 'none', patch: {} }]) }
    expect(commitBatch(space, refused, 2)).toMatchObject({ ok: false })
    applyDelivery(space, { id: 'delivery', to: 'room:1', writes: [{ op: 'run.patch', runId: 'none', patch: {} }] }, 2)
    expect(dueIn(space, 1, 10)).toEqual(before)
    expect(claimRuns(space, request, 3)).toMatchObject([{ run: { id: 'run-1' } }])
  })
})

const stores: Readonly<Record<string, () => SessionStore>> = {
  memory: () => memoryStore(),
  file: () => fileStore({ dir: newFolder(), fsync: false }),
}

describe.each(Object.entries(stores))('turns of the event loop over the %s store', (_name, newStore) => {
  it('S169: between two commits that follow each other by promises alone, timers have their turn', async () => {
    const store = newStore()
    await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1) })
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    for (let n = 0; n < 50; n++) await store.commit(batch(`batch ${n}`, 'room:1', [ensure('room:1')]))
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.commit(batch(`at once ${n}`, `room:${n}`, [ensure(`room:${n}`)]))))
    isDone = true
    expect(turns).toBeGreaterThan(100 / 16 - 2)
    await store.close()
  })

  it('S34: commits that were asked for before the store is closed are done', async () => {
    const store = newStore()
    await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1) })
    const commits = [1, 2, 3].map((n) => store.commit(batch(`batch ${n}`, `room:${n}`, [ensure(`room:${n}`)])))
    await store.close()
    expect(await Promise.all(commits)).toMatchObject([{ ok: true }, { ok: true }, { ok: true }])
  })
})
