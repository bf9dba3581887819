import { describe, expect, it } from 'vitest'
import { emptyView, isDurable, reduceEvents } from '../../src/index.ts'
import type { AgentEvent, RunView } from '../../src/index.ts'
import { EventLog } from '../../src/run/event-log.ts'
import { agentOf, conversation, readAll } from '../support/conversation.ts'
import { discarded, textDelta } from '../support/events.ts'
import { echo, remote } from '../support/tools.ts'

const fold = (events: readonly AgentEvent[]): RunView => events.reduce<RunView>(reduceEvents, emptyView)
const toolSteps = [
  { text: 'let me', chunk: 1, toolCalls: [{ name: 'a', input: {} }] },
  { text: 'done', chunk: 1 },
]

describe('readers', () => {
  it('A14: a run needs no reader', async () => {
    const talk = conversation()
    expect(await talk.run(agentOf([{ text: 'hello' }]), 'hi').result()).toMatchObject({ status: 'completed', text: 'hello' })
  })

  it('A15: result() settles for every ending and does not reject', async () => {
    const endings = [
      conversation().run(agentOf([{ text: 'x' }]), 'hi'),
      conversation().run(agentOf([{ error: new Error('no') }]), 'hi'),
      conversation().run(agentOf([]), undefined),
      conversation().run(agentOf([]), { toolResults: [{ toolCallId: 'x', output: 1 }] }),
      conversation().run(agentOf([]), 'hi', { abortSignal: AbortSignal.abort() }),
      conversation().run(agentOf([{ toolCalls: [{ name: 'far', input: {} }] }], { tools: [remote('far')] }), 'hi'),
    ].map(async (run) => (await run.result()).status)
    expect(await Promise.all(endings)).toEqual(['completed', 'error', 'error', 'error', 'aborted', 'awaiting-tools'])
  })

  it('A15: a journal that throws, or is broken, gives a result too', async () => {
    const load = (): never => {
      throw new Error('gone')
    }
    const run = agentOf([]).run('hi', { journal: { load, commit: load } })
    expect(await run.result()).toMatchObject({ status: 'error', reason: 'journal-error', error: { code: 'journal-failed' } })
  })

  it('A16: messages are those of this run, in transcript order', async () => {
    const talk = conversation()
    await talk.play(agentOf([{ text: 'one' }]), 'first')
    const { result } = await talk.play(agentOf(toolSteps, { tools: [echo('a').tool] }), 'second')
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
    expect((await talk.memory.load()).messages.slice(2)).toEqual(result.messages)
  })

  it('A17: every reader sees every durable event once, in order', async () => {
    const talk = conversation()
    const run = talk.run(agentOf(toolSteps, { tools: [echo('a').tool] }), 'hi')
    const seen = await Promise.all([readAll(run), readAll(run.events()), readAll(run.events({ deltas: false }))])
    const seqs = seen.map((events) => events.filter(isDurable).map((event) => event.seq))
    expect(seqs[0]).toEqual(talk.journal.events.map((event) => event.seq))
    expect(seqs[1]).toEqual(seqs[0])
    expect(seen[2]?.map((event) => event.seq)).toEqual(seqs[0])
    const later = await readAll(run.events({ afterSeq: 5, deltas: false }))
    expect(later.map((event) => event.seq)).toEqual(seqs[0]?.slice(5))
  })

  it('A18: a late reader ends with the view of a fast one', async () => {
    const talk = conversation()
    const run = talk.run(agentOf(toolSteps, { tools: [echo('a').tool] }), 'hi')
    const fast = await readAll(run)
    await run.result()
    const late = await readAll(run.events())
    expect(fold(late)).toEqual(fold(fast))
    expect(late.length).toBeLessThan(fast.length)
  })

  it('A19: a slow reader holds one open message and the durable events', async () => {
    const log = new EventLog()
    const reader = log.read()
    const asked = reader.next()
    const base = { at: 0, runId: 'r', turn: 1, step: 1 } as const
    let seq = 0
    const put = (messageId: string, deltas: number): void => {
      log.append([{ ...base, type: 'message-start', messageId, attempt: 1, model: { provider: 'p', modelId: 'm' }, seq: ++seq }])
      for (let count = 0; count < deltas; count++) log.publish(textDelta(messageId))
    }
    const end = (messageId: string): void => log.append([discarded(messageId, ++seq)])
    put('m1', 10)
    await asked
    for (let taken = 0; taken < 4; taken++) expect((await reader.next()).value?.type).toBe('text-delta')
    end('m1')
    for (let message = 2; message <= 50; message++) {
      put(`m${message}`, 100)
      end(`m${message}`)
    }
    put('open', 3)
    log.close()
    const rest = await readAll(reader)
    expect(rest.filter((event) => event.type === 'text-delta')).toHaveLength(3)
    expect(rest.filter(isDurable).map((event) => event.seq)).toEqual(Array.from({ length: 100 }, (_, place) => place + 2))
  })

  it('A19: a reader that never calls next does not delay the run', async () => {
    const talk = conversation()
    const run = talk.run(agentOf(toolSteps, { tools: [echo('a').tool] }), 'hi')
    const idle = run.events()[Symbol.asyncIterator]()
    await idle.next()
    expect((await run.result()).status).toBe('completed')
  })

  it('A26: leaving the loop stops nothing', async () => {
    const talk = conversation()
    const run = talk.run(agentOf(toolSteps, { tools: [echo('a').tool] }), 'hi')
    for await (const event of run) if (event.type === 'message-start') break
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A27: every iterator ends once the result has settled', async () => {
    const talk = conversation()
    const run = talk.run(agentOf([{ text: 'x' }]), 'hi')
    const waiting = run.events()[Symbol.asyncIterator]()
    let last = await waiting.next()
    while (!last.done) last = await waiting.next()
    await run.result()
    expect((await readAll(run)).at(-1)?.type).toBe('settled')
    expect(await waiting.next()).toEqual({ done: true, value: undefined })
  })
})
