import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { fileStore } from '../../src/file.ts'
import { memoryStore } from '../../src/memory.ts'
import type { NewRun, Write } from '../../src/contract/batch.ts'
import type { ClaimRequest, SessionStore } from '../../src/contract/session-store.ts'
import { SessionFolder } from '../../src/stores/file/session-folder.ts'
import { claimRuns } from '../../src/stores/memory/claim.ts'
import { applyDelivery, commitBatch } from '../../src/stores/memory/commit.ts'
import { dueIn } from '../../src/stores/memory/due.ts'
import { newSpace } from '../../src/stores/memory/space.ts'
import { forgetDefinitions, pruneSpace } from '../../src/stores/memory/prune.ts'
import type { HeldSession } from '../../src/stores/memory/held-session.ts'
import type { Space } from '../../src/stores/memory/space.ts'
import { readsOf } from '../../src/stores/memory/reads.ts'
import { batch, ensure } from './file-support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()
const idleSessions = 200
const request: ClaimRequest = { owner: 'owner-a', max: 1, leaseMs: 1000, agents: ['assistant'], holds: [] }

/** Counts each read of an idle session, by whatever way it is found. */
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
  file: () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'definitions'))
    return new SessionFolder({ folder, fsync: false, maxRecordBytes: 1e6, now: () => 1 }).space
  },
}

function run(id: string, fields: Partial<NewRun> = {}): Write {
  return { op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: 'hello', at: 1, ...fields } }
}

/** Adds idle sessions of every kind: new, after a turn, with a TTL, with a parent. */
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
  it('S54: a claim, a query for due work, a list of busy sessions and a commit read no idle session', async () => {
    const space = newOne()
    const sessions = counted(space)
    fillWithIdle(space)
    sessions.looks = 0
    commitBatch(space, batch('one', 'room:1', [ensure('room:1'), run('run-1')]), 2)
    expect(claimRuns(space, request, 3)).toMatchObject([{ run: { id: 'run-1' } }])
    expect(dueIn(space, 4, 100)).toEqual({ timers: [], expired: [], unread: [], nextAt: 10_001 })
    const reads = readsOf(
      () => space,
      () => 4,
    )
    expect((await reads.listSessions({ status: ['queued', 'running'] })).items.map(({ key }) => key)).toEqual(['room:1'])
    expect((await reads.listSessions({ parent: 'room:1' })).items).toEqual([])
    commitBatch(space, batch('two', 'room:1', [{ op: 'session.delete', at: 5 }]), 5)
    expect(claimRuns(space, request, 6)).toEqual([])
    expect(sessions.looks).toBe(0)
  })

  it('S54: a query for due work returns the sessions that are due, and reads no other', () => {
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

  it('S34: a refused batch leaves the due work as it was', () => {
    const space = newOne()
    commitBatch(space, batch('one', 'room:1', [ensure('room:1'), run('run-1')]), 1)
    const before = dueIn(space, 1, 10)
    const refused = {
      ...batch('two', 'room:1', [{ op: 'session.delete', at: 2 }, ensure('room:1'), { op: 'run.patch', runId: 'none', patch: {} }]),
    }
    expect(commitBatch(space, refused, 2)).toMatchObject({ ok: false })
    applyDelivery(space, { id: 'delivery', to: 'room:1', writes: [{ op: 'run.patch', runId: 'none', patch: {} }] }, 2)
    expect(dueIn(space, 1, 10)).toEqual(before)
    expect(claimRuns(space, request, 3)).toMatchObject([{ run: { id: 'run-1' } }])
  })
})

/** Counts the rows of a table that are read without their key. */
function countRows(table: ReadonlyMap<unknown, unknown> | undefined): () => number {
  let rows = 0
  for (const name of ['keys', 'values', 'entries', Symbol.iterator] as const) {
    const walk = table?.[name].bind(table) as () => Iterator<unknown>
    const counted = (): object => {
      const iterator = walk()
      return { next: () => ((rows += 1), iterator.next()), [Symbol.iterator]: () => ({ next: () => ((rows += 1), iterator.next()) }) }
    }
    Object.assign(table ?? {}, { [name]: counted })
  }
  return () => rows
}

describe.each(Object.entries(spaces))('growing data in the %s store', (_name, newOne) => {
  const end = (runId: string, endedAt: number): Write => ({ op: 'run.patch', runId, patch: { status: 'aborted', endedAt } })
  const call = {
    runId: 'run-1',
    step: 1,
    toolCallId: 'call',
    index: 0,
    name: 'pay',
    effect: 'once',
    idempotencyKey: 'k',
    inputHash: 'h',
    input: {},
    state: 'pending',
    attempt: 0,
  } as const
  const asked = (approvalId?: string): Write => ({
    op: 'call.put',
    calls: [{ ...call, ...(approvalId !== undefined && { approval: { approvalId, at: 1 } }) }] as never,
  })

  it('S164: pruning reads no session without anything to prune', () => {
    const space = newOne()
    const sessions = counted(space)
    fillWithIdle(space)
    const define = (hash: string): Write => ({ op: 'definition.put', hash, body: {} })
    const refer = (runId: string, definition: string): Write => ({ op: 'run.patch', runId, patch: { definition } })
    const writes = [
      ensure('room:1'),
      define('old'),
      define('new'),
      run('one'),
      refer('one', 'old'),
      end('one', 5),
      run('two'),
      refer('two', 'old'),
      refer('two', 'new'),
      end('two', 9),
    ]
    commitBatch(space, batch('one', 'room:1', writes), 9)
    sessions.looks = 0
    expect(pruneSpace(space, { runsEndedBefore: 0 }, 10, 10)).toEqual({ runs: 0, events: 0, more: false })
    forgetDefinitions(space)
    expect([...space.definitions.keys()]).toEqual(['old', 'new'])
    expect(sessions.looks).toBe(0)
    const ended = idleSessions / 4
    expect(pruneSpace(space, { runsEndedBefore: 6 }, 10, 1000)).toMatchObject({ runs: ended + 1, more: false })
    forgetDefinitions(space)
    expect([...space.definitions.keys()]).toEqual(['new'])
    sessions.looks = 0
    expect(pruneSpace(space, { runsEndedBefore: 100 }, 10, 10)).toMatchObject({ runs: 1 })
    forgetDefinitions(space)
    expect([...space.definitions.keys()]).toEqual([])
    expect(sessions.looks).toBe(0)
  })

  it('S164: a refused batch and a deleted session keep the definitions that are still referred to', () => {
    const space = newOne()
    const begin = (key: string): Write[] => [
      ensure(key),
      { op: 'definition.put', hash: 'h', body: {} },
      run(`run of ${key}`),
      { op: 'run.patch', runId: `run of ${key}`, patch: { definition: 'h' } },
    ]
    commitBatch(space, batch('one', 'room:1', begin('room:1')), 1)
    const refused: Write[] = [
      { op: 'run.patch', runId: 'run of room:1', patch: { definition: null } },
      { op: 'run.patch', runId: 'none', patch: {} },
    ]
    expect(commitBatch(space, batch('two', 'room:1', refused), 2)).toMatchObject({ ok: false })
    commitBatch(space, batch('three', 'room:2', begin('room:2')), 3)
    commitBatch(space, batch('four', 'room:1', [{ op: 'session.delete', at: 4 }]), 4)
    forgetDefinitions(space)
    expect([...space.definitions.keys()]).toEqual(['h'])
    commitBatch(space, batch('five', 'room:2', [{ op: 'run.patch', runId: 'run of room:2', patch: { definition: null } }]), 5)
    forgetDefinitions(space)
    expect([...space.definitions.keys()]).toEqual([])
  })

  it('S54: an approval is found without reading other sessions, and is removed with its session', async () => {
    const space = newOne()
    const sessions = counted(space)
    fillWithIdle(space)
    const reads = readsOf(
      () => space,
      () => 4,
    )
    commitBatch(space, batch('one', 'room:1', [ensure('room:1'), run('run-1'), asked('approval')]), 2)
    sessions.looks = 0
    expect(await reads.readApproval('approval')).toMatchObject({ status: 'found', value: { toolCallId: 'call' } })
    expect(await reads.readApproval('another')).toEqual({ status: 'missing' })
    commitBatch(space, batch('two', 'room:1', [asked(undefined)]), 3)
    expect(await reads.readApproval('approval')).toEqual({ status: 'missing' })
    commitBatch(space, batch('three', 'room:1', [asked('approval')]), 4)
    commitBatch(space, batch('four', 'room:1', [{ op: 'session.delete', at: 5 }]), 5)
    expect(await reads.readApproval('approval')).toEqual({ status: 'missing' })
    expect(sessions.looks).toBe(0)
  })

  it('S54: an accepted input, a step and a search for open runs read no earlier run', async () => {
    const space = newOne()
    const accept = (n: number, hash = 'hash', id = `accept ${n}`) =>
      batch(id, 'room:1', [ensure('room:1'), run(`run ${n}`, { inputId: `input ${n}`, inputHash: hash })])
    for (let n = 1; n <= 50; n++) {
      commitBatch(space, accept(n), n)
      commitBatch(space, batch(`end ${n}`, 'room:1', [end(`run ${n}`, n)]), n)
    }
    const held = space.sessions.get('room:1')
    const rows = [held?.runs, held?.applied, held?.entries, held?.events].map(countRows)
    expect(commitBatch(space, accept(50, 'hash', 'again'), 51)).toMatchObject({ ok: true, existing: { runId: 'run 50' } })
    expect(commitBatch(space, accept(7, 'other', 'other'), 51)).toEqual({ ok: false, reason: 'id-reused' })
    expect(commitBatch(space, accept(51), 51)).toMatchObject({ ok: true, version: 101 })
    expect(claimRuns(space, request, 52)).toMatchObject([{ run: { id: 'run 51' } }])
    commitBatch(space, batch('step', 'room:1', [{ op: 'call.put', calls: [{ ...call, runId: 'run 51' }] as never }]), 53)
    rows.push(countRows(held?.calls.get('run 51')))
    commitBatch(space, batch('next step', 'room:1', [{ op: 'run.patch', runId: 'run 51', patch: { step: 2 } }]), 54)
    const reads = readsOf(
      () => space,
      () => 55,
    )
    expect((await reads.listRuns('room:1', { status: ['queued', 'running'] })).items.map(({ id }) => id)).toEqual(['run 51'])
    const [ofRuns = 0, ...others] = rows.map((count) => count())
    // Each change of the session reads its oldest run.
    expect(ofRuns).toBeLessThan(10)
    expect(others).toEqual([0, 0, 0, 0])
  })

  it('S54: a claim reads as many queued sessions as it takes, the oldest first', () => {
    const space = newOne()
    const sessions = counted(space)
    const queued = 200
    for (let n = 0; n < queued; n++)
      commitBatch(space, batch(`${n}`, `idle:${n}`, [ensure(`idle:${n}`), run(`run ${n}`, { at: 1 + Math.floor(n / 4) })]), 1)
    sessions.looks = 0
    const taken = ['run 0', 'run 1', 'run 2', 'run 3', 'run 4']
    expect(claimRuns(space, { ...request, max: 5 }, 10).map(({ run }) => run.id)).toEqual(taken)
    const looks = sessions.looks
    sessions.looks = 0
    expect(claimRuns(space, { ...request, max: 5, holds: taken }, 10).map(({ run }) => run.id)).toEqual([
      'run 5',
      'run 6',
      'run 7',
      'run 8',
      'run 9',
    ])
    expect(dueIn(space, 10, 10).nextAt).toBe(null)
    expect(looks).toBeLessThan(queued)
    expect(sessions.looks).toBeLessThan(queued)
  })
})

const stores: Readonly<Record<string, () => SessionStore>> = {
  memory: () => memoryStore(),
  file: () => fileStore({ dir: newFolder(), fsync: false }),
}

describe.each(Object.entries(stores))('turns of the event loop over the %s store', (_name, newStore) => {
  it('S169: between two commits that follow each other by promises alone, timers can run', async () => {
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

  it('S34: commits that were requested before the store is closed are done', async () => {
    const store = newStore()
    await store.open({ namespace: 'default', owner: 'owner-a', clock: manualClock(1) })
    const commits = [1, 2, 3].map((n) => store.commit(batch(`batch ${n}`, `room:${n}`, [ensure(`room:${n}`)])))
    await store.close()
    expect(await Promise.all(commits)).toMatchObject([{ ok: true }, { ok: true }, { ok: true }])
  })
})
