import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { emptyView, isBoundary, isDelta, isDurable, reduceEvents, toolCallOf } from '../../src/events/index.ts'
import type { AgentEvent, RunView } from '../../src/events/index.ts'
import { deepFreeze } from '../../src/base/json.ts'
import { costOf, drawnLog } from '../support/drawn-log.ts'

const fold = (events: readonly AgentEvent[], from: RunView = emptyView): RunView => events.reduce<RunView>(reduceEvents, from)
const view = (drawing: string): RunView => fold(drawnLog(drawing))
const ids = ({ messages }: RunView): readonly (string | undefined)[] => messages.map((message) => message.id)

const start = 'user-message turn-start step-start message-start'
const closed = 'save-point settled'
const answered = `message-end step-end turn-end(completed) ${closed}`
const asked = `${start} message-end(x) approval-requested(x) turn-end(awaiting-approval) save-point`
const child = `${start} message-end(x) tool-execution-start(x) child-start(x)`

/** A log that contains everything that can happen. */
const rich = `
  session-start run-queued(run_1) user-message turn-start runtime-input(turn-start) step-start message-start · message-discarded(retry)
  usage(discarded-attempt) retry-start message-start · message-end(x,y) retry-end(true) approval-requested(y) tool-execution-start(x)
  child-start(x) child-update(x,1) child-end(x,completed) usage(child) tool-execution-end(x) error turn-end(awaiting-approval) save-point
  run-queued(run_b) lone-end(run_b) turn-start(answers) approval-resolved(y,approve) tool-execution-start(y) tool-execution-end(y) step-end
  runtime-input(step-end,overlay) compaction-start(c) usage(compaction) compaction-end(c,done) step-start message-start · ${answered}
  user-message turn-start step-start message-start message-end(z) awaiting-tools(z) turn-end(awaiting-tools) save-point
  turn-start(answers) tool-execution-end(z,elsewhere) step-end step-start message-start message-discarded(failed) message-discarded(failed,result_z)
  message-discarded(failed,msg_6) message-discarded(failed,msg_5) step-end turn-end(error) save-point compaction-start(d)
  usage(compaction,outside) compaction-end(d,failed) settled branch-switched session-end`

describe('the fold of a log', () => {
  it('A46: a durable event without a number, or with a number that was already read, gives the same view', () => {
    const log = drawnLog(rich)
    const end = fold(log)
    for (const event of log) {
      expect(reduceEvents(end, event)).toBe(end)
      if (isDelta(event)) continue
      const { seq: _seq, ...unnumbered } = event
      expect(reduceEvents(end, unnumbered as AgentEvent)).toBe(end)
    }
  })

  it('A46: an unknown type gives the same view', () => {
    for (const type of ['invented', 'constructor', '__proto__', 'toString']) {
      expect(reduceEvents(emptyView, { type, seq: 1, at: 0 } as never)).toBe(emptyView)
    }
  })

  it('A18: logs that differ only in their deltas fold to equal views at every boundary, except for live parts', () => {
    const log = drawnLog(rich)
    fc.assert(
      fc.property(fc.infiniteStream(fc.boolean()), (kept) => {
        let [all, some] = [emptyView, emptyView]
        for (const event of log) {
          all = reduceEvents(all, event)
          if (isDurable(event) || kept.next().value) some = reduceEvents(some, event)
          if (!isBoundary(event)) continue
          const { open: _open, progress: _progress, ...durable } = all
          expect(some).toMatchObject(durable)
        }
        expect(some).toEqual(all)
      }),
      randomRuns(40),
    )
  })

  it('never throws and never changes a view, in whatever order events come', () => {
    const log = drawnLog(rich)
    fc.assert(
      fc.property(fc.array(fc.nat(log.length - 1), { maxLength: 60 }), (places) => {
        let seq = 0
        let at = emptyView
        for (const place of places) {
          const event = log[place]
          if (event) at = deepFreeze(reduceEvents(at, isDelta(event) ? event : { ...event, seq: ++seq }))
        }
        expect(at.seq).toBe(seq)
      }),
      randomRuns(200),
    )
  })

  it('survives a JSON round trip at every event', () => {
    let at = emptyView
    for (const event of drawnLog(rich)) {
      at = reduceEvents(at, event)
      expect(JSON.parse(JSON.stringify(at))).toEqual(at)
    }
  })

  it('A46: a jump, a switch of the branch and a transcript from elsewhere set the gap', () => {
    expect(view(`${start} ${answered}`).gap).toBe(false)
    expect(fold(drawnLog(`${start} ${answered}`).filter((event) => event.seq !== 2)).gap).toBe(true)
    expect(view(`${start} ${answered} branch-switched`).gap).toBe(true)
    expect(view('session-start').gap).toBe(false)
    expect(view('session-start(copied)').gap).toBe(true)
    expect(view(`session-start(copied) ${start} ${answered}`).gap).toBe(true)
  })
})

describe('the fold of messages', () => {
  it('A45: an input that comes while a turn runs enters the transcript, an overlay does not', () => {
    const drawing = `user-message turn-start runtime-input(turn-start) runtime-input(turn-start,overlay) step-start message-start message-end step-end runtime-input(step-end,notify)`
    expect(ids(view(drawing))).toEqual(['msg_1', 'msg_2', 'msg_4', 'msg_5'])
  })

  it('A45: results enter the transcript together after the last one, in call order', () => {
    const calls = `${start} message-end(x,y) tool-execution-start(x) tool-execution-start(y) tool-execution-end(y)`
    expect(ids(view(calls))).toEqual(['msg_1', 'msg_2'])
    expect(ids(view(`${calls} tool-execution-end(x)`))).toEqual(['msg_1', 'msg_2', 'result_x', 'result_y'])
    expect(ids(view(`${calls} tool-execution-end(x) step-end`))).toEqual(['msg_1', 'msg_2', 'result_x', 'result_y'])
  })

  it('A115: a withdrawn attempt leaves nothing but its tokens', () => {
    const at = view(`${start} · message-discarded(retry) usage(discarded-attempt)`)
    expect(ids(at)).toEqual(['msg_1'])
    expect(at).not.toHaveProperty('open')
    expect(at.usage.totalTokens).toBe(5)
  })

  it('A124: a rewind withdraws an answer, its calls and its results', () => {
    const before = `${start} message-end(x) tool-execution-start(x) tool-execution-end(x) step-end step-start message-start`
    expect(view(before).toolCalls).toHaveLength(1)
    const at = view(`${before} message-discarded(retry) message-discarded(rewind,result_x) message-discarded(rewind,msg_2)`)
    expect(ids(at)).toEqual(['msg_1'])
    expect(at.toolCalls).toEqual([])
    expect(at.usage.totalTokens).toBe(5)
  })

  it('A123: a turn that is given up leaves the transcript unchanged', () => {
    const before = view(`${start} ${answered}`)
    const at = view(
      `${start} ${answered} ${start} message-discarded(failed) message-discarded(failed,msg_3) step-end turn-end(error) ${closed}`,
    )
    expect(at.messages).toEqual(before.messages)
    expect(at).toMatchObject({ status: 'failed', error: { kind: 'rate-limit' } })
  })

  it('A145: an input that a hook changes is withdrawn', () => {
    expect(ids(view('user-message message-discarded(replaced) user-message(again) turn-start'))).toEqual(['msg_2'])
    expect(ids(view(`user-message message-discarded(replaced) turn-start turn-end(completed) ${closed}`))).toEqual([])
  })
})

describe('the fold of runs', () => {
  it('shows a retry until it has ended', () => {
    const announced = `${start} message-discarded(retry) retry-start`
    expect(view(announced).retry).toMatchObject({
      attempt: 2,
      maxAttempts: 4,
      delayMs: 2_000,
      notBefore: 9_000,
      cause: 'error',
      error: { kind: 'rate-limit' },
    })
    expect(view(`${announced} turn-start(takeover) message-start ·`).retry).toBeDefined()
    expect(view(`${announced} message-start message-end`).retry).toBeDefined()
    expect(view(`${announced} message-start message-end retry-end(true)`)).not.toHaveProperty('retry')
    expect(view(`${announced} retry-end(false) step-end turn-end(aborted)`)).not.toHaveProperty('retry')
  })

  it('A34: the phase is compaction only outside of a turn', () => {
    expect(view('user-message turn-start compaction-start(c)').phase).toBe('turn')
    expect(view('user-message turn-start compaction-start(c) compaction-end(c,done)').phase).toBe('turn')
    const behind = `${start} message-end step-end turn-end(completed) save-point compaction-start(c)`
    expect(view(behind).phase).toBe('compaction')
    expect(view(`${behind} compaction-end(c,failed)`).phase).toBe('idle')
    expect(view(`${behind} user-message turn-start`).phase).toBe('turn')
  })

  it('A132: a compaction is kept beside the messages, which stay', () => {
    const done = view(`${start} message-end step-end compaction-start(c) usage(compaction) compaction-end(c,done)`)
    expect(done.compaction).toMatchObject({ compactionId: 'c', summary: 'so far' })
    expect(ids(done)).toEqual(['msg_1', 'msg_2'])
    expect(
      view(`${start} message-end step-end compaction-start(c) compaction-end(c,done) compaction-start(d) compaction-end(d,failed)`)
        .compaction?.compactionId,
    ).toBe('c')
  })

  it('A44: counts each part once, and nothing that came after the turn', () => {
    const turn = `${child} child-end(x,completed) usage(child) tool-execution-end(x) step-end compaction-start(c) usage(compaction) compaction-end(c,done) step-start message-start message-discarded(retry) usage(discarded-attempt) retry-start message-start message-end`
    expect(view(turn).usage).toEqual({ inputTokens: 15, outputTokens: 10, totalTokens: 25 })
    const behind = `${turn} retry-end(true) step-end turn-end(completed) save-point compaction-start(d) usage(compaction,outside) compaction-end(d,done) settled`
    expect(view(behind)).toMatchObject({ usage: { totalTokens: 25 }, cost: costOf('0.75') })
  })

  it('A18: money is exact, and unknown if one part of it is unknown', () => {
    const log = drawnLog(`${start} message-end step-end step-start message-start message-end`)
    const ends = log.filter((event) => event.type === 'message-end')
    const withCosts = (...costs: (ReturnType<typeof costOf> | undefined)[]): RunView =>
      fold(
        log.map((event) => {
          const place = ends.findIndex((end) => end === event)
          if (event.type !== 'message-end' || place < 0) return event
          const { cost: _cost, ...message } = event.message
          const cost = costs[place]
          return { ...event, message: { ...message, ...(cost && { cost }) } }
        }),
      )
    expect(withCosts(costOf('0.1'), costOf('0.2')).cost).toEqual(costOf('0.3'))
    expect(withCosts(costOf('9007199254740993.000000000001'), costOf('0.999999999999')).cost?.total).toBe('9007199254740994')
    for (const costs of [
      [costOf('1'), undefined],
      [undefined, costOf('1')],
      [costOf('1'), costOf('1', 'EUR')],
      [costOf('1'), costOf('1e3')],
    ]) {
      expect(withCosts(...costs)).not.toHaveProperty('cost')
    }
  })

  it('a run that never started ends without a change to the run that is active or suspended', () => {
    const running = `${start}`
    expect(view(`${running} run-queued(run_b) lone-end(run_b)`)).toEqual({ ...view(running), seq: 6 })
    expect(view(`${asked} run-queued(run_b) lone-end(run_b)`)).toEqual({ ...view(asked), seq: 10 })
    expect(view('run-queued(run_b)')).toMatchObject({ status: 'queued', runId: 'run_b' })
    expect(view('run-queued(run_b) lone-end(run_b)')).toMatchObject({ status: 'stopped', runId: 'run_b', phase: 'idle' })
  })
})

describe('the fold of calls', () => {
  it('A77: shows what waits for a decision until the decision is made', () => {
    expect(view(asked)).toMatchObject({
      status: 'waiting-for-user',
      outcome: 'awaiting-approval',
      pendingApprovals: [
        { approvalId: 'approval_x', toolCallId: 'x', toolName: 'tool', input: { a: 1 }, inputHash: 'hash', path: [], agent: [] },
      ],
    })
    expect(view(`${asked} turn-start(answers)`).pendingApprovals).toHaveLength(1)
    expect(view(`${asked} turn-start(answers) approval-resolved(x,approve)`).pendingApprovals).toEqual([])
    expect(view(`${asked} turn-start(recovery) tool-execution-end(x,no)`).pendingApprovals).toEqual([])
    expect(view(`${asked} turn-start(recovery) turn-end(aborted)`).pendingApprovals).toEqual([])
  })

  it('keeps approvals beside remote calls', () => {
    const at = view(`${start} message-end(x,r) approval-requested(x) awaiting-tools(r) turn-end(awaiting-tools) save-point`)
    expect(at.pendingApprovals).toHaveLength(1)
    expect(at.pendingToolCalls).toHaveLength(1)
    expect(toolCallOf(at, 'r')?.state).toBe('remote')
  })

  it('A164: lists the pending work of a child with its path, and removes it with the call', () => {
    const at = view(`${child} approval-requested(x/y) awaiting-tools(x/z) turn-end(awaiting-tools) save-point`)
    expect(at.pendingApprovals).toMatchObject([{ toolCallId: 'y', path: ['x'] }])
    expect(at.pendingToolCalls).toMatchObject([{ toolCallId: 'z', path: ['x'] }])
    expect(at.toolCalls.map((call) => call.toolCallId)).toEqual(['x'])
    const after = view(
      `${child} approval-requested(x/y) awaiting-tools(x/z) turn-end(awaiting-tools) save-point turn-start(answers) tool-execution-end(x)`,
    )
    expect([after.pendingApprovals, after.pendingToolCalls]).toEqual([[], []])
  })

  it('A182: follows a child from its start to its end', () => {
    const begun = { toolCallId: 'x', childRunId: 'child_x', subagent: 'helper', description: 'looks' }
    expect(view(child).children).toEqual([{ ...begun, status: 'running', step: 0, toolNames: [] }])
    expect(view(`${child} child-update(x,2)`).children).toEqual([
      { ...begun, status: 'running', step: 2, text: 'I look', toolNames: ['look'] },
    ])
    const ended = view(`${child} child-update(x,2) child-end(x,completed) usage(child)`).children
    expect(ended).toMatchObject([{ status: 'completed', step: 2, usage: { totalTokens: 5 }, cost: { total: '0.15' } }])
    expect(view(`${child} child-update(x,2) turn-start(takeover) child-start(x)`).children).toEqual(view(child).children)
    expect(view(`${start} message-end(x) child-update(x,1) child-end(x,completed)`).children).toEqual([])
  })

  it('finds a call by its id, in call order', () => {
    const at = view(`${start} message-end(x,y) tool-execution-start(y)`)
    expect(at.toolCalls.map((call) => call.state)).toEqual(['pending', 'running'])
    expect(toolCallOf(at, 'y')).toBe(at.toolCalls[1])
    expect(toolCallOf(at, 'z')).toBeUndefined()
  })
})
