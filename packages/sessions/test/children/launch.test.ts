import { systemClock } from '@bowline/llm'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import type { Batch, Session, SessionStore } from '@bowline/sessions'
import { type FaultRule, faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { namesOfPlaces, placesOfStores, type Place } from '../stores/places.ts'
import { gate } from '../support.ts'
import { childrenOf, endOf, helper, launch, root, team } from './support.ts'

const placeOf = placesOfStores()

/** Ways to abort the parent. Each resolves when its run is told to end, before everything below has ended. */
const aborts = {
  stop: (session: Session) => session.stop({ waitMs: 0 }),
  kill: (session: Session) => session.kill(),
  'the end of its time': (_session: Session, clock: ManualClock) => clock.advance(60_000),
}

type Fault = Extract<FaultRule['fault'], { readonly waitFor: unknown }>

const launches = (batch: Batch): boolean => (batch.deliver ?? []).some(({ id }) => id.startsWith('spawn:'))
const isChild = (runId: string): boolean => runId.endsWith('/d')

/** Progress of the launch at the time of the abort, each with the store call that is held. */
const moments = {
  'asked for': (fault) => ({ of: 'listChildren', when: ({ parent }) => 'session' in parent, times: 1, fault }),
  'on its way to the store': (fault) => ({ of: 'commit', when: launches, times: 1, fault }),
  'stored, and not answered': (fault) => ({ of: 'commit', when: launches, times: 1, fault: { ...fault, at: 'after' } }),
  'answered, and not told': (fault) => ({ of: 'readRun', when: isChild, skip: 1, times: 1, fault }),
} as const satisfies Record<string, (hold: Fault) => FaultRule>

type Moment = keyof typeof moments

/** Moments at which the store has the child. Running out of time writes nothing, so a commit in progress still succeeds. */
const leavesChild: Readonly<Record<keyof typeof aborts, readonly Moment[]>> = {
  stop: ['stored, and not answered', 'answered, and not told'],
  kill: ['stored, and not answered', 'answered, and not told'],
  'the end of its time': ['on its way to the store', 'stored, and not answered', 'answered, and not told'],
}

const cases = Object.entries(leavesChild).flatMap(([abort, leaves]) =>
  (Object.keys(moments) as Moment[]).map((moment) => {
    const isLeft = leaves.includes(moment)
    return {
      abort: abort as keyof typeof aborts,
      moment,
      isLeft,
      becomes: isLeft ? 'leaves a child that ends as aborted' : 'leaves nothing',
    }
  }),
)

/** Launches a child, aborts while the launch is held, and returns the store in its final state. */
async function abortAt(moment: Moment, abort: keyof typeof aborts, isLeft: boolean, [store, later]: Place): Promise<SessionStore> {
  const reached = gate()
  const go = gate()
  const hold = moments[moment]({ waitFor: () => (reached.open(), go.passed) })
  const clock = manualClock()
  const { runtime, session, faults } = await team([{ toolCalls: [launch('d', 'scout')] }, { text: 'launched' }, { text: 'seen' }], {
    store: faultyStore(store, [hold]),
    clock,
    subagents: [helper('scout', [{ hang: 'before' }])],
    agent: { limits: { maxDurationMs: 60_000 } },
    abortGraceMs: 10_000,
  })
  const { runId } = await session.send('go')
  await reached.passed
  await aborts[abort](session, clock)
  go.open()
  await endOf(store, runId)
  if (isLeft) await endOf(store, `${runId}/d`)
  await runtime.stop()
  expect(faults).toEqual([])
  const after = later()
  await after.open({ namespace: 'default', clock: systemClock, owner: 'later' })
  return after
}

describe.each(namesOfPlaces)('a background launch, over %s', (name) => {
  it.each(cases)('S130: aborted by $abort when it is $moment, it $becomes', async ({ abort, moment, isLeft }) => {
    const store = await abortAt(moment, abort, isLeft, placeOf(name))
    const children = await childrenOf(store)
    expect(children.map(({ status }) => status)).toEqual(isLeft ? ['aborted'] : [])
    expect((await store.listSessions({ parent: root })).items).toHaveLength(isLeft ? 1 : 0)
    // Nothing is notified, and nothing continues.
    expect(await store.readInbox(root, ['child-settled', 'child-changed'])).toEqual([])
    expect((await store.listRuns(root, {})).items).toMatchObject([{ status: abort === 'the end of its time' ? 'limit' : 'aborted' }])
    const log = (await store.readEvents(root, 0, 100)).events.map(({ type }) => type)
    expect(log).not.toContain('runtime-input')
    if (!isLeft) expect(log).not.toContain('child-start')
    await store.close()
  })
})
