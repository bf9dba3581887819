import { expect, it } from 'vitest'
import type { NoticeClaimRequest } from '@bowline/sessions'
import { claimNotices, settleNotice } from '../../src/stores/memory/notices.ts'
import { commitBatch } from '../../src/stores/memory/commit.ts'
import { newSpace } from '../../src/stores/memory/space.ts'
import type { Space } from '../../src/stores/memory/space.ts'

const now = 1_750_000_000_000
const leaseMs = 30_000
const secret = 'a secret of a session'

/** Three dead receivers, for which `waiting` notices wait, and a live one, for which three do. */
function world(waiting: number): {
  readonly space: Space
  readonly visitedBy: (request: Partial<NoticeClaimRequest>) => readonly [visited: number, claimed: readonly string[]]
} {
  const space = newSpace()
  const visited = new Set<string>()
  for (let place = 0; place < waiting + 3; place++) {
    const key = `room:${place}`
    const host = place < waiting ? `dead-${place % 3}` : 'live'
    const settings = { notify: { url: `https://${host}.example/hook`, events: ['settled'] as const, secret } }
    const result = commitBatch(
      space,
      {
        id: 'first',
        key,
        expect: [],
        writes: [
          { op: 'session.ensure', session: { id: key, agent: 'assistant', metadata: {}, at: now, settings } },
          { op: 'run.insert', run: { id: `run ${place}`, kind: 'turn', createdAt: now, input: [], inputIds: [] } as never },
          { op: 'run.patch', runId: `run ${place}`, patch: { status: 'aborted', reason: 'abort' } },
        ],
      },
      now + place,
    )
    expect(result.ok).toBe(true)
  }
  for (const [key, held] of space.sessions) {
    const watched = new Proxy(held, {
      get(target, name) {
        visited.add(key)
        return Reflect.get(target, name) as unknown
      },
    })
    space.sessions.set(key, watched)
    space.index.update(key, watched)
  }
  return {
    space,
    visitedBy(request) {
      visited.clear()
      const { notices } = claimNotices(space, { max: 8, leaseMs, hooks: ['default', 'session'], ...request }, now + waiting + 10)
      const count = visited.size
      return [count, notices.map(({ session }) => session)]
    },
  }
}

const dead = [0, 1, 2].map((place) => `https://dead-${place}.example`)

it.each([
  ['that leaves out the dead receivers', { except: dead }, 3],
  ['that probes one of them', { max: 1, receiver: 'https://dead-1.example' }, 1],
  ['for another hook', { hooks: ['default'] }, 0],
  ['for all receivers', {}, 8],
] as const)('S213: a claim %s visits as many sessions, however many notices wait', (_title, request, claimed) => {
  for (const waiting of [30, 3000]) {
    const [visited, keys] = world(waiting).visitedBy(request)
    expect(keys).toHaveLength(claimed)
    expect(visited).toBeLessThanOrEqual(4 * 8)
  }
})

it('S213: a claim visits the next notice of a session, however many wait in it', () => {
  const { space, visitedBy } = world(0)
  const held = space.sessions.get('room:0')
  const [first] = held?.notices.values() ?? []
  if (!held || !first) throw new Error('there is no notice')
  let passed = 0
  for (let n = 2; n < 1000; n++) {
    const { dueAt: _due, ...rest } = first
    const notice = { ...rest, id: `room:0.${n}`, n }
    Object.defineProperty(notice, 'hook', { enumerable: true, get: () => ((passed += 1), first.hook) })
    held.notices.set(notice.id, notice)
    held.pendingNotices.set(notice.id, notice)
  }
  expect(visitedBy({})[1]).toHaveLength(3)
  expect(passed).toBe(0)
  expect(settleNotice(space, { ...first, attempts: 1 }, { state: 'delivered' }, now + 20)).toBe(true)
  expect(claimNotices(space, { max: 8, leaseMs, hooks: ['session'] }, now + 20).notices.map(({ n }) => n)).toEqual([2])
})
