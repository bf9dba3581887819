import { fakeIds } from '@bowline/testing'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import { manualClock } from '@bowline/llm/testing'
import type { DefinitionDiff } from '../../src/contract/definition-diff.ts'
import { LiveLog } from '../../src/log/live-log.ts'
import { finalizeRun, endLostRun, giveBack, holdForDecision, answersOf } from '../../src/runtime/recover.ts'
import type { Batch, CommitResult, RunPatch, Write } from '../../src/contract/batch.ts'
import type { Claim, SessionStore } from '../../src/contract/session-store.ts'
import type { InboxRecord } from '../../src/contract/records.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import {
  appendEvents,
  benchOf,
  ensure,
  insertRun,
  openCall,
  parentOf,
  patchRun,
  putAnswers,
  putCalls,
  room,
  startMs,
} from '../core/rules/bench.ts'

const crashed = { status: 'error', reason: 'crash-loop', error: { code: 'crash-loop', message: 'lost again and again' } } as const
const diff = { instructions: true, tools: { added: ['look'], removed: [], changed: [] } } as unknown as DefinitionDiff
const question = { toolCallId: 'c1', toolName: 'place', input: {}, path: [], agent: [] }

/** Creates a store in which this process has claimed the run `r1` in the middle of a turn. */
async function lostRun(
  patch: RunPatch = {},
  { turn = 1, session = {}, run = {}, key = room }: { turn?: number | undefined; session?: object; run?: object; key?: string } = {},
) {
  const clock = manualClock(startMs)
  const memory = memoryStore()
  await memory.open({ namespace: 'test', clock, owner: 'here' })
  const bench = benchOf(memory, clock)
  await bench.commit(
    [ensure(key, session), insertRun('r1', run), appendEvents({ event: { type: 'run-queued', at: startMs, runId: 'r1' } as never })],
    { key },
  )
  const [claim] = await bench.claim()
  if (!claim) throw new Error('There is nothing to claim.')
  await bench.commit([patchRun('r1', { ...(turn > 0 && { turn, step: 2 }), ...patch })], { key })
  const before: ((batch: Batch) => Promise<CommitResult | undefined> | undefined)[] = []
  const store: SessionStore = aroundStore(memory, async (operation, args, go) => {
    const answer = operation === 'commit' ? await before.shift()?.(args[0] as Batch) : undefined
    return answer ?? go()
  })
  const live = new LiveLog()
  const told: string[] = []
  live.hold(room, () => void told.push('changed'))
  const reader = live.session(room).subscribe(0)
  return {
    bench,
    store,
    live,
    clock,
    told,
    claim,
    context: { store, live, clock, ids: fakeIds() },
    /** Work before the next commits. Its return value replaces the result of the commit. */
    beforeCommits: (...work: readonly (typeof before)[number][]) => void before.push(...work),
    log: async () => (await memory.readEvents(room, 1, 100)).events.map(({ type }) => type),
    /** Types of the published events. Checks that their numbers are those of the log and that deltas follow the last one. */
    published: () => {
      const events: { readonly type: string; readonly seq?: number }[] = []
      for (let item = reader.shift(); item; item = reader.shift()) events.push(item.event)
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, place) => (events[0]?.seq ?? 0) + place))
      expect(live.session(room).base).toBe(events.at(-1)?.seq ?? 0)
      return events.map(({ type }) => type)
    },
    touch: (...writes: readonly Write[]) => bench.commit([appendEvents({ event: { type: 'branch-switched', at: 1 } }), ...writes]),
  }
}

const refuse = (reason: string) => () => Promise.resolve({ ok: false, reason } as CommitResult)
const everywhere = {
  giveBack,
  finalizeRun,
  endLostRun: (context: never, claim: Claim) => endLostRun(context, claim, crashed),
  holdForDecision: (context: never, claim: Claim) => holdForDecision(context, claim, diff),
}

describe('S36: a run that another owner has taken over', () => {
  it.each(Object.keys(everywhere) as (keyof typeof everywhere)[])('S36: is not changed by %s', async (name) => {
    const { bench, context, claim, published } = await lostRun({ rest: { status: 'completed', reason: 'stop' } })
    await bench.commit([patchRun('r1', { status: 'queued' })])
    await bench.claim({ owner: 'owner-b' })
    const before = await bench.everything()
    await everywhere[name](context as never, claim)
    expect(await bench.everything()).toEqual(before)
    expect(published()).toEqual([])
  })

  it.each(Object.keys(everywhere) as (keyof typeof everywhere)[])(
    'S105: is deleted with its session: %s restores nothing',
    async (name) => {
      const { bench, context, claim, published } = await lostRun({ rest: { status: 'completed', reason: 'stop' } })
      await bench.commit([{ op: 'session.delete', at: startMs }])
      const before = await bench.everything()
      await everywhere[name](context as never, claim)
      expect(await bench.everything()).toEqual(before)
      expect(published()).toEqual([])
    },
  )

  it.each(Object.keys(everywhere) as (keyof typeof everywhere)[])(
    'S36: is lost during %s: a refusal is reported, unless another owner has the run',
    async (name) => {
      for (const reason of ['fenced', 'missing']) {
        const { context, claim, beforeCommits, published } = await lostRun({
          ...(name === 'finalizeRun' && { rest: { status: 'completed', reason: 'stop' } }),
        })
        beforeCommits(refuse(reason))
        await everywhere[name](context as never, claim)
        expect(published()).toEqual([])
      }
      const { context, claim, beforeCommits } = await lostRun({
        ...(name === 'finalizeRun' && { rest: { status: 'completed', reason: 'stop' } }),
      })
      beforeCommits(refuse('open-calls'))
      await expect(everywhere[name](context as never, claim)).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('open-calls') as unknown,
      })
    },
  )
})

describe('S9: a run that is given back', () => {
  it('S9: is queued with its turn open, for the next claimer', async () => {
    const { bench, context, claim } = await lostRun()
    await giveBack(context, claim)
    expect(await bench.run('r1')).toMatchObject({ status: 'queued', reason: 'yielded', turn: 1 })
    expect(await bench.claim({ owner: 'owner-b' })).toMatchObject([{ previous: 'queued', run: { id: 'r1', epoch: 2, attempts: 0 } }])
  })
})

describe('S60: a run whose turn has ended or is suspended', () => {
  it('S60: rests as its turn did, logs that the session has settled, and informs the waiting callers', async () => {
    const error = { kind: 'network', message: 'gone', retryable: true, phase: 'before-output' } as const
    const { bench, context, claim, log, published, told } = await lostRun({ rest: { status: 'error', reason: 'model-error', error } })
    await finalizeRun(context, claim)
    const run = await bench.run('r1')
    expect(run).toMatchObject({ status: 'error', reason: 'model-error', error })
    expect(run).not.toHaveProperty('rest')
    expect((await bench.store.readEvents(room, 1, 10)).events).toEqual([{ type: 'settled', at: startMs, runId: 'r1', turn: 1, seq: 2 }])
    expect([await log(), published(), told]).toEqual([['settled'], ['settled'], ['changed']])
    expect((await bench.session()).status).toBe('failed')
  })

  it('S60: without a turn, as for a compaction, it logs the turn 0', async () => {
    const { bench, context, claim } = await lostRun(
      { rest: { status: 'completed', reason: 'stop' } },
      { turn: 0, run: { kind: 'compaction' } },
    )
    await finalizeRun(context, claim)
    expect((await bench.store.readEvents(room, 1, 10)).events).toEqual([{ type: 'settled', at: startMs, runId: 'r1', turn: 0, seq: 2 }])
  })

  it('S124: logs settled once, and not while another run is open', async () => {
    const twice = await lostRun({ rest: { status: 'completed', reason: 'stop' } })
    await twice.bench.commit([appendEvents({ event: { type: 'settled', at: 1, runId: 'r1', turn: 1 } as never })])
    await finalizeRun(twice.context, twice.claim)
    expect([await twice.log(), twice.published(), twice.told]).toEqual([['settled'], [], ['changed']])
    const behind = await lostRun({ rest: { status: 'completed', reason: 'stop' } })
    await behind.bench.commit([insertRun('r2')])
    await finalizeRun(behind.context, behind.claim)
    expect([await behind.log(), (await behind.bench.run('r1')).status]).toEqual([[], 'completed'])
  })

  it('S60: is not changed if its turn has not ended', async () => {
    const { bench, context, claim, told } = await lostRun()
    const before = await bench.everything()
    await finalizeRun(context, claim)
    expect([await bench.everything(), told]).toEqual([before, []])
  })

  const waits = {
    rest: { status: 'awaiting-tools', reason: null },
    pendingToolCalls: [{ ...question, deadlineAt: startMs + 500 }],
  } as unknown as RunPatch
  const child: InboxRecord = { id: 'child:x', kind: 'child-changed', at: 1, body: { runId: 'x' } }
  const answered: Write = {
    op: 'inbox.put',
    rows: [{ id: 'answer:r1:c1', kind: 'answer', at: 1, body: { toolCallId: 'c1', hash: 'h', answer: {} } } as unknown as InboxRecord],
  }

  it('S89: waits, and its deadline counts from then on', async () => {
    const { bench, context, claim, log } = await lostRun(waits)
    await finalizeRun(context, claim)
    expect([(await bench.run('r1')).status, await log()]).toEqual(['awaiting-tools', []])
    await bench.clock.advance(500)
    expect((await bench.store.due(10)).timers).toMatchObject([
      { id: 'deadline:r1', kind: 'deadline', dueAt: startMs + 500, body: { runId: 'r1' } },
    ])
  })

  it.each<[string, readonly Write[]]>([
    ['its stop', [patchRun('r1', { stop: { at: 5 } })]],
    ['word of a subagent', [{ op: 'inbox.put', rows: [child] }]],
    ['the last answer', [answered]],
  ])('S89, S97: resumes for %s that came before it rested, and no deadline is set', async (_what, writes) => {
    const { bench, context, claim } = await lostRun(waits)
    await bench.commit(writes)
    await finalizeRun(context, claim)
    expect([(await bench.run('r1')).status, (await bench.store.due(0)).nextAt]).toEqual(['queued', null])
  })

  it('S89: does not resume for the answer to another question', async () => {
    const { bench, context, claim } = await lostRun(waits)
    await bench.commit([putAnswers('answer:r1:c2', 'answer:r2:c1')])
    await finalizeRun(context, claim)
    expect((await bench.run('r1')).status).toBe('awaiting-tools')
  })

  it('S98: a run that waits for a subagent resumes only for its stop or for a notification of a subagent', async () => {
    const below = { rest: { status: 'awaiting-subagent', reason: null } } as unknown as RunPatch
    const { bench, context, claim } = await lostRun(below)
    await finalizeRun(context, claim)
    expect((await bench.run('r1')).status).toBe('awaiting-subagent')
    const stopped = await lostRun(below)
    await stopped.bench.commit([patchRun('r1', { stop: { at: 5 } })])
    await finalizeRun(stopped.context, stopped.claim)
    expect((await stopped.bench.run('r1')).status).toBe('queued')
  })

  it('S97: an end stays an end, whatever came before the run rested', async () => {
    const { bench, context, claim } = await lostRun({ rest: { status: 'completed', reason: 'stop' } })
    await bench.commit([patchRun('r1', { stop: { at: 5 } }), { op: 'inbox.put', rows: [child] }])
    await finalizeRun(context, claim)
    expect((await bench.run('r1')).status).toBe('completed')
  })

  it('S97: sees what arrives while it is stored; a session that changes each time is reported', async () => {
    const { bench, context, claim, beforeCommits } = await lostRun(waits)
    beforeCommits(async () => void (await bench.commit([patchRun('r1', { stop: { at: 5 } })])))
    await finalizeRun(context, claim)
    expect((await bench.run('r1')).status).toBe('queued')
    const restless = await lostRun(waits)
    let tries = 0
    restless.beforeCommits(...Array.from({ length: 25 }, () => async () => (tries++, await restless.touch(), undefined)))
    await expect(finalizeRun(restless.context, restless.claim)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('20 times') as unknown,
    })
    expect(tries).toBe(20)
  })

  it('S135: a child reports to the session of its parent how it ended, or that it waits', async () => {
    const approval = { ...waits, pendingToolCalls: [], pendingApprovals: [{ ...question, approvalId: 'p1' }] } as unknown as RunPatch
    for (const [status, open] of [
      ['completed', waits],
      ['awaiting-tools', waits],
      ['awaiting-approval', approval],
    ] as const) {
      const { bench, context, claim } = await lostRun(
        { ...open, rest: { status, reason: 'stop' } as never },
        { run: { kind: 'child', parent: parentOf('p', { session: 'room:2' }) } },
      )
      await bench.commit([ensure('room:2'), insertRun('p')], { key: 'room:2' })
      await finalizeRun(context, claim)
      expect(await bench.store.readInbox('room:2', ['child-changed'])).toHaveLength(1)
    }
  })

  it('S146: an ended child logs its cost in the session of its parent, and adds its own cost to that session', async () => {
    const [cost, own] = [
      { total: '3', currency: 'USD' },
      { total: '1', currency: 'USD' },
    ]
    const patch = {
      usage: { inputTokens: 30 },
      cost,
      turnState: { spent: { usage: { inputTokens: 10 }, cost: own } },
      rest: { status: 'completed', reason: 'stop' },
    }
    const { bench, context, claim } = await lostRun(patch as unknown as RunPatch, {
      key: 'room:2~scout~1',
      run: { kind: 'child', parent: parentOf('p', { session: 'room:2' }) },
    })
    await bench.commit([ensure('room:2'), insertRun('p')], { key: 'room:2' })
    await finalizeRun(context, claim)
    expect((await bench.store.readEvents('room:2', 0, 10)).events).toMatchObject([
      { type: 'child-end', status: 'completed', usage: { inputTokens: 30 }, cost },
    ])
    expect(await bench.session('room:2')).toMatchObject({ childUsage: { inputTokens: 10 }, childCost: own })
  })

  it('S135: a child that resumes reports nothing to its parent', async () => {
    const { bench, context, claim } = await lostRun(waits, { run: { kind: 'child', parent: parentOf('p', { session: 'room:2' }) } })
    await bench.commit([ensure('room:2'), insertRun('p')], { key: 'room:2' })
    await bench.commit([patchRun('r1', { stop: { at: 5 } })])
    await finalizeRun(context, claim)
    expect((await bench.run('r1')).status).toBe('queued')
    expect([await bench.store.readInbox('room:2', ['child-changed']), (await bench.store.readEvents('room:2', 0, 10)).events]).toEqual([
      [],
      [],
    ])
  })
})

describe('S62: a run that the loop cannot end', () => {
  it('S62: gets its end, settles its calls and frees the session', async () => {
    const { bench, context, claim, log, published, told } = await lostRun()
    await bench.commit([putCalls(openCall('r1', 'c1', { step: 2 })), putAnswers('answer:r1:c1', 'decision:r1:p1', 'answer:r2:c1')])
    await endLostRun(context, claim, crashed)
    expect(await bench.run('r1')).toMatchObject({ status: 'error', reason: 'crash-loop', error: crashed.error })
    expect(await bench.store.readCalls('r1')).toMatchObject([{ state: 'settled', status: 'unknown' }])
    expect((await bench.store.readInbox(room, ['answer', 'decision'])).map(({ id }) => id)).toEqual(['answer:r2:c1'])
    const types = ['turn-start', 'tool-execution-end', 'turn-end', 'save-point', 'settled']
    expect([await log(), published()]).toEqual([types, types])
    expect(told).toEqual(['changed', 'changed'])
  })

  it('S124: does not settle the session while another run is open, but does if that run ends in the meantime', async () => {
    const { bench, context, claim, log } = await lostRun()
    await bench.commit([insertRun('r2')])
    await endLostRun(context, claim, crashed)
    expect((await log()).at(-1)).toBe('save-point')
    const late = await lostRun()
    await late.bench.commit([insertRun('r2')])
    late.beforeCommits(
      () => undefined,
      async () => void (await late.bench.commit([patchRun('r2', { status: 'aborted' })])),
    )
    await endLostRun(late.context, late.claim, crashed)
    expect((await late.log()).at(-1)).toBe('settled')
  })

  it('S62: a session that changes each time is reported', async () => {
    const { bench, context, claim, beforeCommits, touch } = await lostRun()
    await bench.commit([insertRun('r2')])
    let tries = 0
    beforeCommits(...Array.from({ length: 60 }, () => async () => (tries++, await touch(), undefined)))
    await expect(endLostRun(context, claim, crashed)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('20 times') as unknown,
    })
    expect(tries).toBe(40)
  })

  it('S126: a run that was stopped before it began is aborted, whatever kept it from beginning', async () => {
    const { bench, context, claim, log } = await lostRun({ stop: { at: 5 } }, { turn: 0 })
    await endLostRun(context, claim, crashed)
    expect(await bench.run('r1')).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(await log()).toEqual(['turn-end', 'settled'])
    const never = await lostRun({}, { turn: 0 })
    await endLostRun(never.context, never.claim, crashed)
    expect(await never.bench.run('r1')).toMatchObject({ status: 'error', reason: 'crash-loop' })
    const begun = await lostRun({ stop: { at: 5 } })
    await endLostRun(begun.context, begun.claim, crashed)
    expect(await begun.bench.run('r1')).toMatchObject({ status: 'error', reason: 'crash-loop' })
  })

  it('S60: a run whose turn has ended rests as its turn did', async () => {
    const { bench, context, claim, log } = await lostRun({ rest: { status: 'completed', reason: 'stop' } })
    await endLostRun(context, claim, crashed)
    expect([(await bench.run('r1')).status, await log()]).toEqual(['completed', ['settled']])
  })

  it('S60, S89: a run whose turn is suspended still waits', async () => {
    const { bench, context, claim } = await lostRun({
      rest: { status: 'awaiting-tools', reason: null },
      pendingToolCalls: [question],
    } as unknown as RunPatch)
    await endLostRun(context, claim, crashed)
    expect((await bench.run('r1')).status).toBe('awaiting-tools')
  })

  it('S135: a child reports to the session of its parent', async () => {
    const { bench, context, claim } = await lostRun({}, { run: { kind: 'child', parent: parentOf('p', { session: 'room:2' }) } })
    await bench.commit([ensure('room:2'), insertRun('p')], { key: 'room:2' })
    await endLostRun(context, claim, crashed)
    expect(await bench.store.readInbox('room:2', ['child-changed'])).toHaveLength(1)
    expect((await bench.store.readEvents('room:2', 0, 10)).events).toMatchObject([
      { type: 'child-end', status: 'error', at: startMs, toolCallId: 'call of p' },
    ])
  })
})

describe('S114: a run whose agent has a changed definition', () => {
  it('S114: waits for a decision with its turn open, and the log says why', async () => {
    const { bench, context, claim, published, told } = await lostRun()
    const taken = {
      ...claim,
      run: { ...(await bench.run('r1')), attempts: 2, turnState: { cost: { total: '1', currency: 'USD' } } },
    } as unknown as Claim
    await holdForDecision(context, taken, diff)
    expect(await bench.run('r1')).toMatchObject({
      status: 'needs-recovery',
      reason: 'definition-changed',
      error: { code: 'definition-changed' },
      turn: 1,
      cost: { total: '1' },
    })
    const base = { at: startMs, runId: 'r1', turn: 1 }
    expect((await bench.store.readEvents(room, 1, 10)).events).toEqual([
      { ...base, seq: 2, type: 'turn-start', resumed: true, attempt: 3, cause: 'takeover', definitionDiff: diff },
      {
        ...base,
        seq: 3,
        type: 'turn-end',
        status: 'needs-recovery',
        reason: 'definition-changed',
        usage: {},
        cost: { total: '1', currency: 'USD' },
        steps: 2,
        overlaysExpired: 0,
      },
      { ...base, seq: 4, type: 'save-point' },
    ])
    expect([published(), told]).toEqual([['turn-start', 'turn-end', 'save-point'], ['changed']])
  })

  it('S114: without a turn it logs the turn 0', async () => {
    const { bench, context, claim } = await lostRun({}, { turn: 0 })
    await holdForDecision(context, claim, diff)
    expect((await bench.store.readEvents(room, 1, 10)).events).toMatchObject([{ turn: 0 }, { turn: 0 }, { turn: 0 }])
  })

  it('S114, S135: a child reports to its parent, and the root logs why', async () => {
    const parent = parentOf('p', { session: 'room:2', root: 'room:2' })
    const { bench, context, claim } = await lostRun({}, { run: { kind: 'child', parent, origin: parent } })
    await bench.commit([ensure('room:2'), insertRun('p')], { key: 'room:2' })
    await holdForDecision(context, claim, diff)
    expect(await bench.store.readInbox('room:2', ['child-changed'])).toMatchObject([{ at: startMs, body: { runId: 'r1' } }])
    const held = { type: 'child-update', childRunId: 'r1', step: 0, status: 'needs-recovery', toolNames: [] }
    expect((await bench.store.readEvents('room:2', 0, 10)).events).toMatchObject([
      held,
      { type: 'error', source: 'definition', runId: 'r1', at: startMs, fatal: false },
    ])
  })
})

it('S89: only the answers and decisions of a run wait in the inbox for it', async () => {
  const { bench } = await lostRun()
  await bench.commit([putAnswers('answer:r1:c1', 'answer:r11:c1', 'decision:r1:p1', 'decision:r2:p1', 'answer:r2:r1')])
  const inbox = await bench.store.readInbox(room, ['answer', 'decision'])
  expect(answersOf({ id: 'r1' }, inbox).map(({ id }) => id)).toEqual(['answer:r1:c1', 'decision:r1:p1'])
})
