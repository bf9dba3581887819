import { expect, it } from 'vitest'
import { at, call, ensure, entries, events, insert, leaseMs, openCore, patch, settled } from './core-world.ts'

type Core = Awaited<ReturnType<typeof openCore>>
type Work = (core: Core) => Promise<unknown>

const fence = { that: 'fence', runId: 'run 1', epoch: 1 } as const
const notify = [{ name: 'default', events: ['settled'] as const }]
const claimOfNotices = { max: 5, leaseMs, hooks: ['default'] }

const empty: Work = async () => {}

const running: Work = async ({ commit, claim }) => {
  await commit('room', [ensure('session 1'), entries(['a', null], ['b', 'a']), insert('run 1'), insert('run 2')])
  await claim()
}

const ended: Work = async (core) => {
  await running(core)
  await core.commit('room', [patch('run 1', { status: 'completed' })], { notify })
  await core.commit('room', [patch('run 2', { status: 'aborted' })], { notify })
}

const listed: readonly (readonly [title: string, before: Work, work: Work])[] = [
  ['a first input', empty, ({ commit }) => commit('room', [ensure('session 1'), insert('run 1', { inputId: 'input 1' })])],
  ['a step', running, ({ commit }) => commit('room', [entries(['c', 'b']), events({ entryId: 'c' })], { expect: [fence] })],
  ['a step below another entry', running, ({ commit }) => commit('room', [entries(['c', 'a'])], { expect: [fence] })],
  ['tool calls', running, ({ commit }) => commit('room', [{ op: 'call.put', calls: [call('run 1', 'x'), settled('run 1', 'y')] }])],
  ['progress', running, ({ commit }) => commit('room', [patch('run 1', { step: 2 })], { expect: [fence] })],
  ['an end', running, ({ commit }) => commit('room', [patch('run 1', { status: 'completed' })], { expect: [fence], notify })],
  ['a queued run that ends', running, ({ commit }) => commit('room', [patch('run 2', { status: 'aborted' })])],
  [
    'steering',
    running,
    ({ commit }) =>
      commit('room', [
        {
          op: 'inbox.put',
          rows: [{ id: 'steer:input', kind: 'steer', at, body: { input: 'x', inputId: 'input', hash: 'hash', runId: 'run 1' } }],
        },
      ]),
  ],
  [
    'conditions',
    running,
    ({ attempt }) =>
      attempt('room', [], {
        expect: [
          { that: 'none-queued', except: 'a' },
          { that: 'some-queued', except: 'b' },
          { that: 'timer', id: 'c' },
        ],
      }),
  ],
  ['a deletion', ended, ({ commit }) => commit('room', [{ op: 'session.delete', at }])],
  ['a deletion of a session with a run', running, ({ commit }) => commit('room', [{ op: 'session.delete', at, leavesNothing: true }])],
  [
    'a delivery',
    running,
    ({ commit }) => commit('other', [ensure('session 2')], { deliver: [{ id: 'delivery', to: 'room', writes: [insert('run 3')] }] }),
  ],
  [
    'a definition',
    running,
    ({ commit }) =>
      commit('room', [{ op: 'definition.put', hash: 'definition 1', body: {} }, patch('run 1', { definition: 'definition 1' })]),
  ],
  ['a claim', ended, ({ commit, claim }) => commit('room', [insert('run 3')]).then(() => claim({ holds: ['x'] }))],
  ['a claim of a named session', running, ({ claim }) => claim({ keys: ['room'] })],
  ['a claim of a run', running, ({ claim }) => claim({ runId: 'run 1', maxRunsPerTenant: 1 })],
  ['a claim of nothing', running, ({ claim }) => claim({ agents: [] }).then(() => claim({ max: 0 }))],
  ['a claim after the clock was set back', running, ({ claim, clock }) => clock.advance(-60_000).then(() => claim({ owner: 'owner-b' }))],
  [
    'a renewal',
    running,
    ({ store }) =>
      store.renew(
        [
          { runId: 'run 1', epoch: 1 },
          { runId: 'run 2', epoch: 1 },
        ],
        leaseMs,
      ),
  ],
  ['due work', running, ({ store }) => store.due(10).then(() => store.due(0))],
  ['sessions with a run to claim', running, ({ store }) => store.listClaimable({ limit: 3 })],
  ['a claim of notices', ended, ({ store }) => store.claimNotices(claimOfNotices)],
  ['a claim of no notice', ended, ({ store }) => store.claimNotices({ ...claimOfNotices, max: 0 })],
  ['a claim of the notices of one receiver', ended, ({ store }) => store.claimNotices({ ...claimOfNotices, receiver: 'default' })],
  [
    'a delivered notice',
    ended,
    async ({ store }) => {
      const { notices } = await store.claimNotices(claimOfNotices)
      for (const notice of notices) await store.settleNotice(notice, { state: 'delivered' })
    },
  ],
  [
    'pruning',
    ended,
    ({ store, clock }) => clock.advance(1).then(() => store.prune({ runsEndedBefore: at + 1, noticesQueuedBefore: at + 1 }, 2)),
  ],
  ['a page of the path', running, ({ store }) => store.readPath('room', { before: 'b', limit: 5 })],
  ['a page of the log', running, ({ store }) => store.readEvents('room', 3, 0).then(() => store.readEvents('room', 3, 5))],
  ['the inbox', running, ({ store }) => store.readInbox('room', ['steer'])],
  ['a call and an approval', empty, ({ store }) => store.readCall('room', 'x').then(() => store.readApproval('y'))],
  ['the calls of a run', empty, ({ store }) => store.readCalls('run 1').then(() => store.readCalls('run 1', 0))],
  [
    'runs',
    running,
    ({ store }) => store.listRuns('room', { status: ['queued'], limit: 3 }).then(() => store.listRuns('room', { newestFirst: true })),
  ],
  ['children', empty, ({ store }) => store.listChildren({ parent: { runId: 'run 1' }, status: ['queued'], limit: 3 })],
  ['timers', empty, ({ store }) => store.listTimers({ kind: 'schedule', key: 'room', limit: 3 })],
  [
    'sessions',
    empty,
    ({ store }) => store.listSessions({ keyPrefix: 'tenant:a:', activeSince: 5, agent: 'assistant', status: ['queued'], limit: 3 }),
  ],
  [
    'sessions of a parent',
    empty,
    ({ store }) => store.listSessions({ parent: 'room', agent: 'assistant', status: ['queued'], expired: false, limit: 3 }),
  ],
  ['sessions by prefix', empty, ({ store }) => store.listSessions({ keyPrefix: 'room', parent: null, limit: 3 })],
]

it.each(listed)('S46, S182: %s reads and writes no more than it must', async (_title, before, work) => {
  const core = await openCore()
  await before(core)
  expect(await core.askedBy(() => work(core))).toMatchSnapshot()
})
