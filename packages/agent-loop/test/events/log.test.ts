import { addUsage } from '@bowline/llm'
import type { Usage } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { sumUsage } from '../../src/events/spending.ts'
import { defineExtension, isDelta, isDurable } from '../../src/index.ts'
import { agentOf, conversation, readAll } from '../support/conversation.ts'
import { echo, remote } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: { place: id } })
const mixed = () =>
  agentOf(
    [
      {
        reasoning: 'think',
        text: 'first',
        chunk: 2,
        toolCalls: [call('x', 'a'), call('y', 'b'), call('z', 'nobody')],
        usage: { input: 7, output: 3, cacheRead: 2 },
      },
      { text: 'second', chunk: 3, usage: { input: 11, output: 2, reasoning: 1 } },
    ],
    { tools: [echo('a').tool, echo('b').tool] },
  )

describe('events', () => {
  it('A28: two runs with equal clock, ids and script give equal events', async () => {
    const logs = await Promise.all(
      [1, 2].map(async () => {
        const talk = conversation()
        await talk.play(mixed(), 'go')
        return talk.journal.log
      }),
    )
    expect(logs[0]).toEqual(logs[1])
  })

  it('A36: no event contains the message so far', async () => {
    const bytes = async (length: number): Promise<number> => {
      const talk = conversation()
      await talk.play(agentOf([{ text: 'x'.repeat(length), chunk: 1 }]), 'go')
      const deltas = talk.journal.log.filter((event) => event.type === 'text-delta')
      expect(deltas).toHaveLength(length)
      return JSON.stringify(deltas).length
    }
    expect(await bytes(400)).toBeLessThan(4.1 * (await bytes(100)))
  })

  it('A37: the deltas of a block add up to the block, those of a call to its input', async () => {
    const talk = conversation()
    await talk.play(mixed(), 'go')
    const end = talk.journal.log.find((event) => event.type === 'message-end')
    const joined = new Map<number, string>()
    for (const event of talk.journal.log.slice(0, end && talk.journal.log.indexOf(end))) {
      if ('delta' in event && 'index' in event) joined.set(event.index, (joined.get(event.index) ?? '') + event.delta)
    }
    for (const [index, part] of (end?.message.content ?? []).entries()) {
      if (part.type === 'text' || part.type === 'reasoning') expect(joined.get(index)).toBe(part.text)
      if (part.type === 'tool-call') expect(JSON.parse(joined.get(index) ?? '')).toEqual(part.input)
    }
    expect(joined.size).toBe(5)
  })

  it('A38: a durable event is published only after its commit has resolved', async () => {
    const stored = new Set<number>()
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        async commit(records, expect) {
          const outcome = await journal.commit(records, expect)
          await new Promise((resolve) => setImmediate(resolve))
          if (outcome.ok)
            for (let seq = 0; seq < records.filter(({ type }) => type === 'event').length; seq++) stored.add(outcome.firstSeq + seq)
          return outcome
        },
      }),
    })
    const early: number[] = []
    for await (const event of talk.run(mixed(), 'go')) if (isDurable(event) && !stored.has(event.seq ?? 0)) early.push(event.seq ?? 0)
    expect(early).toEqual([])
    expect(stored.size).toBe(talk.journal.events.length)
  })

  it('A39, A40, A41: every start event has its end event', async () => {
    const talk = conversation()
    await talk.play(mixed(), 'go')
    const of = (type: string) => talk.journal.log.filter((event) => event.type === type)
    expect(of('message-start').map((event) => 'messageId' in event && event.messageId)).toEqual(
      of('message-end').map((event) => 'messageId' in event && event.messageId),
    )
    expect(of('tool-execution-start').map((event) => 'toolCallId' in event && event.toolCallId)).toEqual(['x', 'y'])
    expect(
      of('tool-execution-end')
        .map((event) => 'toolCallId' in event && event.toolCallId)
        .toSorted(),
    ).toEqual(['x', 'y', 'z'])
    const intents = talk.journal.commits.flat().filter((record) => record.type === 'call' && record.call.state === 'started')
    expect(intents).toHaveLength(2)
  })

  it('A42, A43: one turn-end per segment with its save-point, settled only when the turn has ended', async () => {
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('r', 'far'), call('s', 'far')] }, { text: 'x' }], { tools: [remote('far')] })
    await talk.play(agent, 'go')
    await talk.play(agent, { toolResults: [{ toolCallId: 'r', output: 1 }] })
    await talk.play(agent, { toolResults: [{ toolCallId: 's', output: 2 }] })
    const closing = talk.types().filter((type) => ['turn-start', 'turn-end', 'save-point', 'settled'].includes(type))
    expect(closing.join(' ')).toBe('turn-start turn-end save-point turn-start turn-end save-point turn-start turn-end save-point settled')
  })

  it.each([
    ['', {}],
    [', told to an extension', { extensions: [defineExtension({ name: 'watcher', hooks: { onSavePoint: () => undefined } })] }],
  ])('A43: not settled while other runs are queued%s', async (_what, options) => {
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) =>
          expect?.nothingQueued ? Promise.resolve({ ok: false, reason: 'runs-queued' }) : journal.commit(records, expect),
      }),
    })
    const { result } = await talk.play(agentOf([{ text: 'x' }], options), 'go')
    expect(result.status).toBe('completed')
    expect(talk.types().at(-1)).toBe('save-point')
    expect((await talk.memory.load()).open).toBeUndefined()
  })

  it('A43: settled once, when the last queued run is removed between the commit with settled and the commit without', async () => {
    const refusals = ['runs-queued', 'nothing-queued'] as const
    let refused = 0
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => {
          const reason = expect?.nothingQueued === undefined ? undefined : refusals[refused++]
          return reason ? Promise.resolve({ ok: false, reason }) : journal.commit(records, expect)
        },
      }),
    })
    const { result } = await talk.play(agentOf([{ text: 'x' }]), 'go')
    expect(result.status).toBe('completed')
    expect(talk.types().slice(-3)).toEqual(['turn-end', 'save-point', 'settled'])
    expect(talk.types().filter((type) => type === 'settled')).toHaveLength(1)
  })

  it('A43: a queue that changes with each commit is a failure of the journal after 20 commits', async () => {
    const expected: boolean[] = []
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => {
          if (expect?.nothingQueued === undefined) return journal.commit(records, expect)
          expected.push(expect.nothingQueued)
          return Promise.resolve({ ok: false, reason: expect.nothingQueued ? 'runs-queued' : 'nothing-queued' })
        },
      }),
    })
    const { result } = await talk.play(agentOf([{ text: 'x' }]), 'go')
    expect(result).toMatchObject({ status: 'error', reason: 'journal-error', error: { code: 'journal-failed' } })
    expect(expected).toEqual(Array.from({ length: 20 }, (_, index) => index % 2 === 0))
  })

  it('A44: usage in turn-end is the sum over the messages of the turn', async () => {
    const talk = conversation()
    const { result } = await talk.play(mixed(), 'go')
    const usages = talk.journal.events.flatMap((event) => (event.type === 'message-end' ? [event.message.usage] : []))
    const sum = usages.reduce<Usage>(addUsage, {})
    expect(talk.journal.events.find((event) => event.type === 'turn-end')?.usage).toEqual(sum)
    expect(result.usage).toEqual(sum)
    expect(talk.view().usage).toEqual(sum)
    expect(sum).toMatchObject({ inputTokens: 18, outputTokens: 5 })
  })

  it('A44: the fold adds up usage as the loop does', () => {
    const samples: Usage[] = [
      {},
      { inputTokens: 1 },
      { outputTokens: 2, estimated: true },
      { inputTokens: 3, cacheReadTokens: 0, raw: { a: 1 } },
    ]
    for (const a of samples) for (const b of samples) expect(sumUsage(a, b)).toEqual(addUsage(a, b))
  })

  it('A47: events are frozen and survive a JSON round trip', async () => {
    const talk = conversation()
    const events = await readAll(talk.run(mixed(), [{ type: 'text', text: 'go' }]))
    const deep = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(deep))
    expect(events.some(isDelta)).toBe(true)
    for (const event of events) {
      expect(deep(event)).toBe(true)
      expect(JSON.parse(JSON.stringify(event))).toStrictEqual(event)
    }
  })
})
