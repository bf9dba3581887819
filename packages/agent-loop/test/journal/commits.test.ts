import { describe, expect, it } from 'vitest'
import { deepFreeze } from '../../src/base/json.ts'
import { AgentError, createMemoryJournal, defineTool, hashJson } from '../../src/index.ts'
import type { CommitExpectation, Journal, JournalRecord } from '../../src/index.ts'
import { agentOf, conversation, readAll } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { echo, gated, latch, remote, until } from '../support/tools.ts'

const call = (id: string, name = 'a') => ({ id, name, input: { n: 1 } })

/** Returns a commit as its event types, with its other records in short form. */
function shape(records: readonly JournalRecord[]): readonly string[] {
  return records.map((record) => {
    if (record.type === 'event') return record.event.type
    if (record.type === 'append') return `append ${record.message.role}`
    if (record.type === 'call') return `${record.call.toolCallId} ${record.call.state}`
    return record.type === 'run' ? `run ${record.run.state}` : record.type
  })
}

const shapes = (talk: Conversation) => talk.journal.commits.map(shape)

describe('commits', () => {
  it('A168: a turn of plain text makes two commits', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'x' }]), 'go')
    expect(shapes(talk)).toEqual([
      ['user-message', 'append user', 'turn-start', 'step-start', 'message-start', 'run running'],
      ['message-end', 'append assistant', 'step-end', 'turn-end', 'save-point', 'run ended', 'settled'],
    ])
  })

  it('A28: the events of one commit have one time, whatever the clock says between them', async () => {
    const talk = conversation()
    let now = 0
    const clock = { ...talk.clock, now: () => ++now }
    await talk.run(agentOf([{ toolCalls: [call('x')] }, { text: 'x' }], { tools: [echo('a').tool] }), 'go', { clock }).result()
    const times = talk.journal.commits.map((records) => records.flatMap((record) => (record.type === 'event' ? [record.event.at] : [])))
    expect(times.map((each) => new Set(each).size)).toEqual([1, 1, 1, 1])
    expect(new Set(times.flat()).size).toBe(4)
  })

  it('A168: a step with tools makes two more: intents before the tools, outcomes with the next call', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ toolCalls: [call('x'), call('y')] }, { text: 'x' }], { tools: [echo('a').tool] }), 'go')
    expect(shapes(talk).slice(1, 3)).toEqual([
      ['message-end', 'append assistant', 'tool-execution-start', 'tool-execution-start', 'x started', 'y started', 'run running'],
      [
        ...['tool-execution-end', 'x result', 'tool-execution-end', 'y result', 'append tool-result', 'append tool-result'],
        ...['step-end', 'step-start', 'message-start', 'run running'],
      ],
    ])
    expect(shapes(talk)).toHaveLength(4)
  })

  it('A168: calls that settle without running, and a suspension, are stored in the commit of the answer', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ toolCalls: [call('x', 'nobody'), call('y', 'far')] }], { tools: [remote('far')] }), 'go')
    expect(shapes(talk).slice(1)).toEqual([
      [
        ...['message-end', 'append assistant', 'tool-execution-end', 'x error', 'y remote', 'awaiting-tools'],
        ...['turn-end', 'save-point', 'run suspended'],
      ],
    ])
  })

  it('A168: model and tool begin only after the commit of their boundary has resolved', async () => {
    const order: string[] = []
    const gates: (() => void)[] = []
    const a = echo('a')
    const tool = { ...a.tool, execute: () => (order.push('tool'), 'ok') } as typeof a.tool
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: async (records, expect) => {
          order.push('commit')
          await new Promise<void>((resolve) => gates.push(resolve))
          order.push('stored')
          return journal.commit(records, expect)
        },
      }),
    })
    const agent = agentOf(
      [
        { toolCalls: [call('x')], expect: () => void order.push('model') },
        { text: 'x', expect: () => void order.push('model') },
      ],
      { tools: [tool] },
    )
    const run = talk.run(agent, 'go')
    for (let commit = 0; commit < 4; commit++) {
      await until(() => gates.length > commit)
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
      gates[commit]?.()
    }
    expect((await run.result()).status).toBe('completed')
    expect(order.join(' ')).toBe('commit stored model commit stored tool commit stored model commit stored')
  })

  it('outcomes that arrive while a commit is in flight are stored together', async () => {
    const held = latch()
    let hold = false
    const wait = gated('wait')
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: async (records, expect) => {
          if (hold) await held.promise
          return journal.commit(records, expect)
        },
      }),
    })
    const calls = ['a', 'b', 'c', 'd'].map((id) => call(id, 'wait'))
    const run = talk.run(agentOf([{ toolCalls: calls }, { text: 'x' }], { tools: [wait.tool] }), 'go')
    await until(() => wait.started.length === 4)
    hold = true
    wait.open('a')
    await new Promise((resolve) => setImmediate(resolve))
    wait.open('c')
    wait.open('b')
    await new Promise((resolve) => setImmediate(resolve))
    held.resolve()
    await until(() => talk.types().filter((type) => type === 'tool-execution-end').length === 3)
    wait.open('d')
    await run.result()
    expect(
      shapes(talk)
        .slice(2, 5)
        .map((records) => records.filter((entry) => entry.endsWith(' result'))),
    ).toEqual([['a result'], ['c result', 'b result'], ['d result']])
  })

  it('a row contains the call, and later its outcome', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ toolCalls: [call('x')] }, { text: 'x' }], { tools: [echo('a', { effect: 'idempotent' }).tool] }), 'go')
    const rows = talk.journal.commits.flat().flatMap((record) => (record.type === 'call' ? [record.call] : []))
    const row = {
      runId: 'run_1',
      step: 1,
      toolCallId: 'x',
      toolName: 'a',
      index: 0,
      effect: 'idempotent',
      attempt: 1,
      idempotencyKey: 'run_1/1/x',
    }
    expect(rows[0]).toEqual({ ...row, state: 'started', inputHash: hashJson({ n: 1 }), startedAt: 1_000, deadlineAt: 121_000 })
    expect(rows[1]).toMatchObject({ ...row, state: 'result', outcome: { toolCallId: 'x', status: 'result' } })
  })

  it('A168: of two rows of one call the last is stored, also when the journal had refused the commit', async () => {
    const stored: string[] = []
    const wrap = (journal: Journal): Journal => ({
      ...journal,
      commit(records, expect) {
        if (expect?.nothingQueued) return Promise.resolve({ ok: false, reason: 'runs-queued' })
        stored.push(...records.flatMap((record) => (record.type === 'call' ? [record.call.toolCallId] : [])))
        return journal.commit(records, expect)
      },
    })
    await conversation({ wrap }).play(agentOf([{ toolCalls: [call('x', 'nobody')] }], { limits: { maxSteps: 1 } }), 'go')
    expect(stored).toEqual(['x'])
  })

  /**
   * Returns a wrapper that makes a journal refuse the first ends of a run, as if other runs came and went. `tries` lists the ends
   * that were tried.
   */
  function busyQueue(refusals: number, given: (records: readonly JournalRecord[]) => readonly JournalRecord[] = (records) => records) {
    const tries: (readonly [CommitExpectation, readonly string[]])[] = []
    const wrap = (journal: Journal): Journal => ({
      ...journal,
      commit(records, expect) {
        if (expect?.nothingQueued === undefined) return journal.commit(given(records), expect)
        tries.push([expect, shape(given(records))])
        if (tries.length > refusals) return journal.commit(records, expect)
        return Promise.resolve({ ok: false, reason: expect.nothingQueued ? 'runs-queued' : 'nothing-queued' })
      },
    })
    return { tries, wrap }
  }

  it.each([0, 1, 2])(
    'A168: an end that the journal has refused %i times is committed again in full, with settled while nothing is queued',
    async (refusals) => {
      const { tries, wrap } = busyQueue(refusals)
      const { result } = await conversation({ wrap }).play(agentOf([{ text: 'x' }]), 'go')
      expect(result).toMatchObject({ status: 'completed', text: 'x' })
      const end = ['message-end', 'append assistant', 'step-end', 'turn-end', 'save-point', 'run ended']
      const withSettled = [{ noInputs: true, nothingQueued: true }, [...end, 'settled']]
      expect(tries).toEqual([withSettled, [{ noInputs: true, nothingQueued: false }, end], withSettled].slice(0, refusals + 1))
    },
  )

  it('A28: the events of a refused end get the time of the commit that stores it, also if the journal freezes them', async () => {
    const { wrap } = busyQueue(2, (records) => deepFreeze(records))
    const talk = conversation({ wrap })
    let now = 0
    const clock = { ...talk.clock, now: () => ++now }
    const run = talk.run(agentOf([{ text: 'x' }]), 'go', { clock })
    const seen = (await readAll(run)).filter((event) => event.seq !== undefined)
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_event, place) => place + 1))
    const ends = talk.journal.commits.at(-1)?.flatMap((record) => (record.type === 'event' ? record.event.at : []))
    expect(new Set(ends).size).toBe(1)
    expect(new Set(seen.slice(-4).map(({ at }) => at))).toEqual(new Set(ends))
  })

  it.each([
    ['says that it belongs to another process', new AgentError('fenced', 'another has it'), { code: 'fenced', message: 'another has it' }],
    [
      'has another error of its own',
      new AgentError('invalid-input', 'no record'),
      { code: 'journal-failed', message: 'the commit failed: no record' },
    ],
  ])('A169: a journal that %s ends the run as error', async (_what, failure, error) => {
    const talk = conversation({ unfinished: true, wrap: (journal) => ({ ...journal, commit: () => Promise.reject(failure) }) })
    expect((await talk.play(agentOf([]), 'go')).result).toMatchObject({ status: 'error', reason: 'journal-error', error })
  })

  it.each([null, 1_000])('a call records the time from its start to its outcome, with the limit %s', async (timeoutMs) => {
    const talk = conversation()
    const slow = defineTool({
      name: 'a',
      description: '',
      inputSchema: {},
      timeoutMs,
      execute: async () => (await talk.clock.advance(300), 'x'),
    })
    await talk.play(agentOf([{ toolCalls: [call('x')] }, { text: 'x' }], { tools: [slow] }), 'go')
    expect(talk.journal.events.find(({ type }) => type === 'tool-execution-end')).toMatchObject({ durationMs: 300 })
  })

  it('a journal may freeze what the runtime passes to it', async () => {
    const memory = createMemoryJournal()
    const journal: Journal = { ...memory, commit: (records, expect) => memory.commit(deepFreeze(records), expect) }
    expect(
      await agentOf([{ text: 'x' }])
        .run('go', { journal })
        .result(),
    ).toMatchObject({ status: 'completed', text: 'x' })
  })

  it('a journal whose publish throws is reported once, and the turn goes on', async () => {
    let published = 0
    const wrap = (journal: Journal): Journal => ({
      ...journal,
      publish() {
        published++
        throw new Error('nobody listens')
      },
    })
    const { result, events } = await conversation({ wrap }).play(agentOf([{ text: 'one two three' }]), 'go')
    expect(result).toMatchObject({ status: 'completed', text: 'one two three' })
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { source: 'journal', hook: 'publish', message: 'nobody listens', fatal: false },
    ])
    expect(published).toBe(1)
  })

  it('A169: a rejected commit stops model call and tools, publishes no further durable event and ends the run as error', async () => {
    const signals: AbortSignal[] = []
    const slow = gated('slow')
    const tool = {
      ...slow.tool,
      execute: (_input: unknown, { abortSignal }: { abortSignal: AbortSignal }) => (signals.push(abortSignal), new Promise(() => {})),
    } as typeof slow.tool
    let commits = 0
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => (++commits === 3 ? Promise.reject(new Error('disk full')) : journal.commit(records, expect)),
      }),
    })
    const agent = agentOf([{ toolCalls: [call('x', 'slow'), call('y')] }], { tools: [tool, echo('a').tool] })
    const { result, events } = await talk.play(agent, 'go')
    expect(result).toMatchObject({
      status: 'error',
      reason: 'journal-error',
      error: { code: 'journal-failed', message: expect.stringContaining('disk full') as string },
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(events.at(-1)?.type).toBe('tool-execution-start')
    expect(events.filter((event) => event.seq !== undefined)).toHaveLength(talk.journal.events.length)
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(agent.model.calls).toHaveLength(1)
    expect(commits).toBe(3)
  })

  it('A170: neither a commit nor the work of a step grows with the transcript', async () => {
    const steps = Array.from({ length: 60 }, (_, step) => ({ toolCalls: [call(`c${String(step).padStart(2, '0')}`)] }))
    const talk = conversation()
    await talk.play(agentOf([...steps, { text: 'x' }], { tools: [echo('a').tool], limits: { maxSteps: 100 } }), 'go')
    const sizes = talk.journal.commits.map((records) => JSON.stringify(records).length)
    const near = (size: number | undefined, other: number | undefined): boolean => Math.abs((size ?? 0) - (other ?? 1)) < 60
    expect(near(sizes[2 * 10 + 1], sizes[2 * 50 + 1])).toBe(true)
    expect(near(sizes[2 * 10 + 2], sizes[2 * 50 + 2])).toBe(true)
  })

  it('loads the journal once per run, before anything else', async () => {
    const order: string[] = []
    const inner = createMemoryJournal()
    const journal: Journal = {
      load: () => (order.push('load'), inner.load()),
      commit: (records) => (order.push('commit'), inner.commit(records)),
    }
    await agentOf([{ text: 'x' }])
      .run('go', { journal })
      .result()
    expect(order).toEqual(['load', 'commit', 'commit'])
  })
})
