import type { CallRow, DurableEvent, RunRow, ToolResult } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { describe, expect, it } from 'vitest'
import { lastEvents, lastWrites, lookAtLostRun, newsOfLostRun, toldOf, type LostRun } from '../../src/writer/close-run.ts'
import { callRecord, callRow } from '../../src/writer/ledger-rows.ts'
import { settleOpenCalls, type SettledCall } from '../../src/writer/settle-open-calls.ts'
import { patchOf, restPatchOf, resumeCause, stepStateOf, turnStateOf } from '../../src/writer/turn-state.ts'
import type { SessionStore } from '../../src/contract/session-store.ts'
import type { RunParent, RunRecord, RunRest, ToolCallRecord } from '../../src/contract/records.ts'

const run = {
  id: 'r1',
  session: 'room:1',
  kind: 'user',
  status: 'running',
  turn: 2,
  step: 3,
  attempts: 1,
  epoch: 4,
  usage: { inputTokens: 10, totalTokens: 15 },
  pendingToolCalls: [],
  pendingApprovals: [],
} as unknown as RunRecord

function record(toolCallId: string, parts: Partial<ToolCallRecord> = {}): ToolCallRecord {
  return {
    runId: 'r1',
    step: 3,
    toolCallId,
    session: 'room:1',
    name: 'pay',
    state: 'pending',
    effect: 'once',
    index: 0,
    ...parts,
  } as unknown as ToolCallRecord
}

function settled(toolCallId: string, parts: Partial<SettledCall> = {}): SettledCall {
  const outcome = { role: 'tool-result', id: `m-${toolCallId}`, toolCallId, status: 'cancelled', at: 5 } as unknown as ToolResult
  return { record: record(toolCallId, { state: 'settled', outcome }), outcome, fresh: true, started: false, inTranscript: false, ...parts }
}

function lost(parts: Partial<LostRun> = {}): LostRun {
  const end = { status: 'error', reason: 'crash-loop', error: { code: 'crash-loop', message: 'lost again and again' } } as const
  return {
    run,
    leaf: 'e1',
    calls: [],
    discarded: undefined,
    compacting: undefined,
    answers: [],
    untold: [],
    end,
    told: 'nothing',
    at: 9,
    ...parts,
  }
}

const typesOf = (events: readonly DurableEvent[]): readonly string[] => events.map(({ type }) => type)
const withState = (turnState: object, parts: object = {}): RunRecord => ({ ...run, ...parts, turnState })

describe('S62: the last events of a run that the loop cannot end', () => {
  it('S62: are one more segment that closes the turn, with its cause', () => {
    const events = lastEvents(lost(), true)
    expect(typesOf(events)).toEqual(['turn-start', 'turn-end', 'save-point', 'settled'])
    expect(events[0]).toEqual({ at: 9, runId: 'r1', turn: 2, type: 'turn-start', resumed: true, attempt: 2, cause: 'recovery' })
    expect(events[1]).toMatchObject({
      status: 'error',
      reason: 'journal-error',
      error: { code: 'journal-failed', message: 'lost again and again' },
      steps: 3,
      overlaysExpired: 0,
      usage: run.usage,
    })
    expect(typesOf(lastEvents(lost(), false))).toEqual(['turn-start', 'turn-end', 'save-point'])
  })

  it('S62: contain another reason and another error unchanged', () => {
    const error = { kind: 'network', message: 'gone', retryable: true, phase: 'before-output' } as const
    const [, end] = lastEvents(lost({ end: { status: 'error', reason: 'model-error', error } }), false)
    expect(end).toMatchObject({ reason: 'model-error', error })
    const [, aborted] = lastEvents(lost({ end: { status: 'aborted', reason: 'abort' } }), false)
    expect(aborted).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(aborted).not.toHaveProperty('error')
    const store = { code: 'store-unavailable', message: 'no disk' } as const
    expect(lastEvents(lost({ end: { status: 'error', reason: 'journal-error', error: store } }), false)[1]).toMatchObject({
      error: { code: 'journal-failed', message: 'no disk' },
    })
  })

  it('S62: discard an answer that had begun and book it, without a price', () => {
    const discarded = { inputTokens: 7, totalTokens: 7, estimated: true } as const
    const open = withState({ cost: { total: '1' }, stepState: 'begun' }, { openMessageId: 'm9' })
    const events = lastEvents(lost({ run: open, discarded }), false)
    expect(typesOf(events)).toEqual(['turn-start', 'message-discarded', 'usage', 'step-end', 'turn-end', 'save-point'])
    expect(events[1]).toMatchObject({ step: 3, messageId: 'm9', reason: 'crash' })
    expect(events[2]).toMatchObject({ purpose: 'discarded-attempt', usage: discarded, estimated: true })
    expect(events[4]).toMatchObject({ usage: { inputTokens: 17, totalTokens: 22 } })
    expect(events[4]).not.toHaveProperty('cost')
    expect(lastEvents(lost({ run: withState({ cost: { total: '1' } }) }), false)[1]).toMatchObject({ cost: { total: '1' } })
  })

  it('S62: end each call that was settled here, as executed here only if it was started', () => {
    const calls = [settled('a', { started: true }), settled('b'), settled('c', { fresh: false })]
    const events = lastEvents(lost({ run: withState({ stepState: 'answered' }), calls }), false)
    expect(events.slice(1, 4)).toMatchObject([
      { type: 'tool-execution-end', toolCallId: 'a', executed: 'here', durationMs: 0, message: { id: 'm-a' } },
      { type: 'tool-execution-end', toolCallId: 'b', executed: 'no' },
      { type: 'step-end', step: 3, toolCalls: 3, continues: false },
    ])
  })

  it('S62: end a step only if it is open, and a retry only if it was announced, as a failed one', () => {
    for (const stepState of ['begun', 'answered'])
      expect(typesOf(lastEvents(lost({ run: withState({ stepState }) }), false))).toContain('step-end')
    expect(typesOf(lastEvents(lost({ run: withState({ stepState: 'ended' }) }), false))).not.toContain('step-end')
    const events = lastEvents(lost({ run: withState({ retry: { open: true }, attempt: 4 }) }), false)
    expect(events[1]).toMatchObject({ type: 'retry-end', step: 3, attempt: 4, success: false })
    expect(lastEvents(lost({ run: withState({ retry: { open: true } }) }), false)[1]).toMatchObject({ attempt: 1 })
    expect(typesOf(lastEvents(lost({ run: withState({ retry: { open: false } }) }), false))).not.toContain('retry-end')
  })

  it('S62: contain only the end of a run that never began, and repeat nothing that the log holds', () => {
    const { turn: _turn, ...before } = run
    expect(typesOf(lastEvents(lost({ run: before }), true))).toEqual(['turn-end', 'settled'])
    expect(lastEvents(lost({ run: before }), false)[0]).toMatchObject({ turn: 0 })
    expect(typesOf(lastEvents(lost({ told: 'end' }), true))).toEqual(['settled'])
    expect(lastEvents(lost({ told: 'end' }), false)).toEqual([])
    expect(lastEvents(lost({ told: 'settled' }), true)).toEqual([])
  })
})

describe('S62: the last writes of a run that the loop cannot end', () => {
  it('S62: are outcomes, ordered entries, events, taken inputs, the deadline and the end, together', () => {
    const calls = [settled('a'), settled('b', { fresh: false }), settled('c', { fresh: false, inTranscript: true })]
    const events = lastEvents(lost(), false)
    const discarded = { inputTokens: 7, totalTokens: 7 }
    const stop = { at: 1 } as unknown as NonNullable<LostRun['end']['stop']>
    const writes = lastWrites(
      lost({ calls, discarded, answers: ['i1'], untold: [{ id: 'i2' }] as never, end: { status: 'aborted', reason: 'abort', stop } }),
      events,
    )
    expect(writes.map(({ op }) => op)).toEqual([
      'call.put',
      'entry.append',
      'event.append',
      'inbox.take',
      'timer.drop',
      'session.patch',
      'run.patch',
    ])
    expect(writes[0]).toMatchObject({ calls: [{ toolCallId: 'a' }] })
    expect(writes[1]).toEqual({
      op: 'entry.append',
      entries: [
        { id: 'm-a', parentId: 'e1', type: 'message', at: 5, runId: 'r1', call: { runId: 'r1', step: 3, toolCallId: 'a' } },
        { id: 'm-b', parentId: 'm-a', type: 'message', at: 5, runId: 'r1', call: { runId: 'r1', step: 3, toolCallId: 'b' } },
      ],
    })
    expect(writes[3]).toEqual({ op: 'inbox.take', ids: ['i1', 'i2'] })
    expect(writes[4]).toEqual({ op: 'timer.drop', ids: ['deadline:r1'] })
    expect(writes[5]).toEqual({ op: 'session.patch', patch: { usage: discarded } })
    expect(writes[6]).toMatchObject({
      runId: 'r1',
      patch: {
        status: 'aborted',
        reason: 'abort',
        error: null,
        usage: { inputTokens: 17, totalTokens: 22 },
        cost: null,
        stop,
        openMessageId: null,
        pendingToolCalls: [],
        pendingApprovals: [],
        turnState: null,
        rest: null,
        notBefore: null,
      },
    })
  })

  it('S62: include a single call, a single event and a single answer', () => {
    const { turn: _turn, ...before } = run
    const one = lost({ run: before, calls: [settled('a')], answers: ['i1'] })
    expect(lastWrites(one, lastEvents(one, false)).map(({ op }) => op)).toEqual([
      'call.put',
      'entry.append',
      'event.append',
      'inbox.take',
      'session.patch',
      'run.patch',
    ])
  })

  it('S62: leave out what does not exist', () => {
    const { turn: _turn, ...before } = run
    const writes = lastWrites(lost({ run: before }), [])
    expect(writes.map(({ op }) => op)).toEqual(['session.patch', 'run.patch'])
    expect(writes[1]).toMatchObject({ patch: { status: 'error', reason: 'crash-loop', error: { code: 'crash-loop' } } })
    expect(writes[1]).not.toHaveProperty('patch.stop')
    const ended = withState({ cost: { total: '1' } }, { cost: { total: '2' } })
    expect(lastWrites(lost({ run: ended, told: 'end' }), []).at(-1)).toMatchObject({ patch: { cost: { total: '2' } } })
    expect(lastWrites(lost({ run: ended }), []).at(-1)).toMatchObject({ patch: { cost: { total: '1' } } })
  })
})

describe('S62: reading a run that the loop cannot end', () => {
  const others = (count: number): readonly string[] => Array.from({ length: count }, () => 'turn-start')
  const messages = [{ role: 'user', id: 'm1', content: 'how are you?' }]

  /** Creates a store with a log of these event types, some with the id of another run, and one message. */
  function storeOf(logged: readonly string[]): SessionStore {
    const events = logged.map((each, index) => ({ type: each.split(' ')[0], runId: each.split(' ')[1] ?? 'r1', seq: index + 1 }))
    const readEvents: SessionStore['readEvents'] = async (_key, after, limit) =>
      ({ events: events.filter(({ seq }) => seq > after).slice(0, limit), lastSeq: events.length }) as never
    const readPath = async () => ({ items: messages.map((message) => ({ type: 'message', id: message.id, message })) })
    return { readEvents, readPath, readCalls: async () => [], readInbox: async () => [] } as unknown as SessionStore
  }

  const atRest = (rest?: object): RunRecord => ({ ...run, firstSeq: 1, ...(rest && { rest: rest as RunRest }) })
  const completed = { status: 'completed' }

  it.each<[string, object | undefined, readonly string[], LostRun['told']]>([
    ['a turn that is open', undefined, ['turn-start', 'settled'], 'nothing'],
    ['a turn that waits', { status: 'awaiting-tools' }, ['turn-start', 'settled'], 'nothing'],
    ['the end of a turn', completed, ['turn-start', 'turn-end', 'save-point'], 'end'],
    ['the end of a turn, and that the session settled', completed, ['turn-start', 'turn-end', 'settled'], 'settled'],
    ['the end of a turn, and that the session settled a hundred events later', completed, [...others(150), 'settled'], 'settled'],
    ['the end of a turn, and that the session settled after another run', completed, ['turn-end', 'settled r0'], 'end'],
    ['the end of a turn, and an input after the session settled', completed, ['turn-end', 'settled', 'run-queued r2'], 'end'],
    ['the end of a turn, and an input before the session settled', completed, ['turn-end', 'run-queued r2', 'settled'], 'settled'],
  ])('S124: a log may hold %s', async (_what, rest, logged, told) => {
    expect(await toldOf(storeOf(logged), atRest(rest))).toBe(told)
  })

  const look = (one: RunRecord) => {
    const { leaf, answers, end, at } = lost()
    return lookAtLostRun({ store: storeOf(['turn-end']), ids: fakeIds() }, one, { leaf, answers, end, at })
  }

  it('S62: a turn that has ended keeps its end, any other turn gets the requested end', async () => {
    expect(await look(atRest())).toMatchObject({ end: lost().end, told: 'nothing' })
    expect(await look(atRest({ status: 'awaiting-tools', reason: 'pending' }))).toMatchObject({ end: lost().end, told: 'nothing' })
    expect((await look(atRest(completed))).end).toStrictEqual({ status: 'completed', reason: 'stop' })
    const failed = { status: 'error', reason: 'model-error', error: { kind: 'network', message: 'gone' } }
    expect(await look(atRest(failed))).toMatchObject({ end: failed, told: 'end' })
  })

  it('S62: an answer that had begun costs the estimated tokens of the transcript; without such an answer nothing is booked', async () => {
    const inputTokens = Math.ceil(JSON.stringify(messages).length / 4)
    expect((await look({ ...atRest(), openMessageId: 'm9' })).discarded).toEqual({ inputTokens, totalTokens: inputTokens, estimated: true })
    expect((await look(atRest())).discarded).toBeUndefined()
  })
})

describe('S62: reports to the sessions above about a run that the loop cannot end', () => {
  const parent = {
    session: 'room:1',
    runId: 'r0',
    toolCallId: 'c0',
    turn: 1,
    step: 1,
    path: ['helper'],
    root: 'room:1',
    rootAgent: 'assistant',
    maxDepth: 3,
  } as const
  const child = (parts: Partial<RunRecord> = {}, more: Partial<RunParent> = {}): RunRecord => ({
    ...run,
    session: 'room:1~helper~1',
    parent: { ...parent, ...more },
    ...parts,
  })
  const noCalls = { readCalls: async () => [] } as unknown as SessionStore
  const news = (parts: Partial<LostRun>) => newsOfLostRun(noCalls, lost(parts), 'b1')

  it('S62, S146: contain its cost and its end, including the discarded answer', async () => {
    const spent = { usage: { inputTokens: 4, totalTokens: 6 }, cost: { total: '1' } } as never
    const discarded = { inputTokens: 7, totalTokens: 7 }
    const [cost, log, ...word] = await news({ run: child({ turnState: { spent, cost: { total: '2' } as never } }), discarded })
    expect(cost).toMatchObject({
      to: 'room:1',
      writes: [{ op: 'session.patch', patch: { childUsage: { inputTokens: 11, totalTokens: 13 }, childCost: { total: '1' } } }],
    })
    const ended = {
      type: 'child-end',
      toolCallId: 'c0',
      childRunId: 'r1',
      subagent: 'helper',
      status: 'error',
      usage: { inputTokens: 17, totalTokens: 22 },
      error: { code: 'journal-failed', message: 'lost again and again' },
    }
    expect(log).toMatchObject({ to: 'room:1', writes: [{ op: 'event.append', events: [{ event: ended }] }] })
    expect(log).not.toHaveProperty('writes.0.events.0.event.cost')
    expect(word.map(({ writes }) => writes)).toMatchObject([
      [{ op: 'inbox.put' }],
      [{ op: 'run.patch', runId: 'r0', patch: { status: 'queued' } }],
    ])
  })

  it('S62, S146: contain a price if no answer was discarded, and no error if there was none', async () => {
    const [, log] = await news({
      run: child({ turnState: { spent: { usage: {} }, cost: { total: '2' } as never } }),
      end: { status: 'aborted', reason: 'abort' },
    })
    expect(log).toMatchObject({ writes: [{ events: [{ event: { status: 'aborted', usage: run.usage, cost: { total: '2' } } }] }] })
    expect(log).not.toHaveProperty('writes.0.events.0.event.error')
  })

  it('S62: close the questions of a background task', async () => {
    const asks = child({ pendingToolCalls: [{ toolCallId: 'a', toolName: 'place', input: {}, path: [], agent: [] }] }, { taskId: 'bg_1' })
    const told = (await news({ run: asks })).at(-1)
    expect(told).toMatchObject({
      id: 'asked:b1:r1',
      to: 'room:1',
      writes: [{ events: [{ event: { type: 'awaiting-tools', pendingToolCalls: [], background: ['c0'], agent: ['helper'] } }] }],
    })
  })

  it('S62: do not exist for a run of a root session', async () => {
    expect(await news({})).toEqual([])
  })
})

describe('S104: calls of a run that is given up', () => {
  /** Reads the path in pages of one entry, newest first. `answer` is a message of the model. */
  function storeOf(calls: readonly ToolCallRecord[], entries: readonly string[] = []): SessionStore {
    const readPath: SessionStore['readPath'] = async (_key, { before } = {}) => {
      const place = before === undefined ? 0 : Number(before)
      const items = entries
        .slice(place, place + 1)
        .map((id) => ({ id, type: 'message', message: { role: id === 'answer' ? 'assistant' : 'user' } }))
      return { items, ...(place + 1 < entries.length && { next: String(place + 1) }) } as never
    }
    return { readCalls: async () => calls, readPath } as unknown as SessionStore
  }

  it.each([
    ['started', 'once', 'unknown', 'may or may not have happened: the run was given up'],
    ['started', 'idempotent', 'unknown', 'may or may not have happened: the run was given up'],
    ['started', 'pure', 'cancelled', 'not run: the run was given up'],
    ['pending', 'once', 'cancelled', 'not run: the run was given up'],
    ['remote', 'once', 'cancelled', 'not run: the run was given up'],
  ] as const)('S104: a call that was %s with the effect %s is %s', async (state, effect, status, value) => {
    const [one] = await settleOpenCalls(storeOf([record('a', { state, effect, index: 2 })]), fakeIds(), run, 8)
    expect(one).toMatchObject({ fresh: true, started: state === 'started', inTranscript: false, record: { state: 'settled', status } })
    expect(one?.outcome).toEqual({
      role: 'tool-result',
      id: expect.stringMatching(/^msg/),
      toolCallId: 'a',
      toolName: 'pay',
      output: { type: 'error-text', value },
      at: 8,
      status,
      index: 2,
    })
    expect(one?.record.outcome).toBe(one?.outcome)
  })

  it('S104: a call that has its outcome keeps it, whether or not it is in the transcript', async () => {
    const outcome = settled('a').outcome
    const calls = [record('a', { state: 'settled', outcome }), record('b', { state: 'settled', outcome: { ...outcome, id: 'm-b' } })]
    expect(await settleOpenCalls(storeOf(calls, ['input', 'm-b', 'answer', 'm-a']), fakeIds(), run, 8)).toMatchObject([
      { fresh: false, inTranscript: false, outcome: { id: 'm-a' } },
      { fresh: false, inTranscript: true, outcome: { id: 'm-b' } },
    ])
    const { turn: _turn, ...before } = run
    expect(await settleOpenCalls(storeOf(calls), fakeIds(), before as RunRecord, 8)).toEqual([])
  })
})

describe('S73: rows of the ledger', () => {
  const approval = { approvalId: 'p1', state: 'approved', input: {}, inputHash: 'h' }
  const row = {
    runId: 'r1',
    step: 3,
    toolCallId: 'a',
    toolName: 'pay',
    state: 'pending',
    effect: 'once',
    idempotencyKey: 'k',
    attempt: 1,
    approval,
  } as unknown as CallRow

  it('S73: a row is read back unchanged, without the fields that only the store keeps', () => {
    const decided = { at: 5, by: 'ann' }
    const stored = callRecord(row, 'room:1', { answer: { inboxId: 'i1', hash: 'x' }, decision: { decided } })
    expect(stored).toMatchObject({ session: 'room:1', name: 'pay', state: 'pending', answerHash: 'x', approval: { ...approval, decided } })
    expect(callRow(stored)).toEqual(row)
    expect(callRow(callRecord(row, 'room:1', {}))).toEqual(row)
    expect(callRecord(row, 'room:1', { answer: { inboxId: 'i1' } })).not.toHaveProperty('answerHash')
    expect(callRecord({ ...row, answerHash: 'of the loop' }, 'room:1', {})).not.toHaveProperty('answerHash')
  })

  it.each(['pending', 'started', 'remote'] as const)('S73: the state %s stays the same', (state) => {
    expect(callRecord({ ...row, state }, 'room:1', {}).state).toBe(state)
    expect(callRow(callRecord({ ...row, state }, 'room:1', {})).state).toBe(state)
  })

  it.each(['result', 'error', 'denied', 'cancelled', 'unknown'] as const)(
    'S73: the state %s becomes settled, with its outcome',
    (status) => {
      const outcome = { ...settled('a').outcome, status } as ToolResult
      const stored = callRecord({ ...row, state: status, outcome }, 'room:1', {})
      expect(stored).toMatchObject({ state: 'settled', status, outcome })
      expect(callRow(stored).state).toBe(status)
    },
  )
})

describe('S114: the stored state of a turn', () => {
  const given = { runId: 'r1', state: 'running', turn: 1, step: 2, usage: {}, attempt: 3, elapsedMs: 7 } as unknown as RunRow

  it('S114: holds how far the step has come', () => {
    expect(['step-start', 'message-end', 'step-end', 'turn-end'].map((type) => stepStateOf({ type } as DurableEvent))).toEqual([
      { stepState: 'begun' },
      { stepState: 'answered' },
      { stepState: 'ended' },
      {},
    ])
  })

  it('S114: holds the state of an open turn, with the earlier step and overlays', () => {
    const before = { stepState: 'begun', overlays: [{ id: 'o1' }] } as never
    expect(turnStateOf(given, before)).toEqual({ attempt: 3, elapsedMs: 7, stepState: 'begun', overlays: [{ id: 'o1' }] })
    expect(turnStateOf(given, {})).toStrictEqual({ attempt: 3, elapsedMs: 7 })
    expect(turnStateOf({ ...given, state: 'ended' }, before)).toBeUndefined()
  })

  it('S114: lets a run rest at once, or when its owner has stored what follows', () => {
    const ended = {
      ...given,
      state: 'ended',
      status: 'error',
      reason: 'model-error',
      error: { code: 'x' },
      cost: { total: '1' },
    } as unknown as RunRow
    const lists = { pendingToolCalls: [], pendingApprovals: [], cost: { total: '1' } }
    expect(restPatchOf(ended)).toEqual({ ...lists, status: 'error', reason: 'model-error', error: { code: 'x' } })
    expect(restPatchOf({ ...ended, followed: true })).toEqual({
      ...lists,
      rest: { status: 'error', reason: 'model-error', error: { code: 'x' } },
    })
    expect(restPatchOf(given)).toEqual({})
    expect(restPatchOf({ ...ended, state: 'running' })).toEqual({})
    expect(
      restPatchOf({ ...given, state: 'suspended', status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'a' }] } as unknown as RunRow),
    ).toEqual({ pendingToolCalls: [{ toolCallId: 'a' }], pendingApprovals: [], status: 'awaiting-tools', reason: null, error: null })
    expect(patchOf({ status: 'completed' } as never)).toEqual({ status: 'completed', reason: null, error: null })
  })

  it.each([
    ['running', undefined, 'takeover'],
    ['running', 'yielded', 'takeover'],
    ['queued', 'yielded', 'yield'],
    ['queued', 'unknown-outcome', 'recovery'],
    ['queued', undefined, 'answers'],
  ] as const)('S113: claimed as %s with the reason %s the run resumes with the cause %s', (previous, reason, cause) => {
    expect(resumeCause({ previous, run: { ...run, ...(reason && { reason }) } } as never)).toBe(cause)
  })
})
