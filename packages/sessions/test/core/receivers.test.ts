import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'

const at = 1_750_000_000_000
const receivers = 2001

it('S213: a claim finds the one receiver of thousands whose notice is due, wherever its name is', async () => {
  const clock = manualClock(at)
  const store = memoryStore()
  await store.open({ namespace: 'default', owner: 'owner-a', clock })
  for (let n = 0; n < receivers; n++) {
    const notify = { url: `https://receiver-${String(n).padStart(4, '0')}.example/hook`, events: ['settled'] as const, secret: 'a secret' }
    const session = { id: `session_${n}`, agent: 'assistant', metadata: {}, at, settings: { notify } }
    const run = { id: `run_${n}`, kind: 'user', inputHash: 'hash', input: 'hello', at } as const
    await store.commit({
      id: `batch_${n}`,
      key: `room:${n}`,
      expect: [],
      writes: [
        { op: 'session.ensure', session },
        { op: 'run.insert', run },
        { op: 'run.patch', runId: run.id, patch: { status: 'running' } },
        { op: 'run.patch', runId: run.id, patch: { status: 'completed' } },
      ],
    })
  }
  const request = { hooks: ['session'], leaseMs: 1000 }
  const { notices } = await store.claimNotices({ ...request, max: receivers })
  expect(notices).toHaveLength(receivers)
  const last = notices.find(({ session }) => session === `room:${receivers - 1}`)
  for (const notice of notices) await store.settleNotice(notice, { state: 'pending', dueInMs: notice === last ? 10 : 1_000_000 })
  expect(await store.claimNotices({ ...request, max: 1 })).toEqual({ notices: [], nextAt: at + 10 })
  await clock.advance(10)
  expect((await store.claimNotices({ ...request, max: 10 })).notices).toMatchObject([{ session: last?.session }])
})
