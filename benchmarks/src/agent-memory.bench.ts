import type { AgentResult } from '@bowline/agent-loop'
import type { Message, MessageStream } from '@bowline/llm'
import { contenderAgent } from './contenders/bowline.ts'
import { streamAfter } from './contenders/bowline-function.ts'
import { heapAfterCollection, type Bench } from './harness.ts'

const runs = 1_000
const deltas = 200
const answers = [{ text: deltas }]

export const bench: Bench = {
  title: 'Memory of runs that stream',
  text: [
    `${runs.toLocaleString('en')} runs at once, each with its own transcript of 20 kB, held in the middle of a message of ${deltas} deltas, one reader each. Heap over that of`,
    'the start, transcripts included, after a collection; then all go on to their end, are let go, and it is looked at again.',
  ].join('\n'),
  async run() {
    // The first round loads code that all later ones share.
    await holdRuns()
    const { baseline, held, after } = await holdRuns()
    const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1)
    return {
      head: ['start MB', 'held kB per run', 'after the end, × start'],
      rows: [[(baseline / 1e6).toFixed(1), kilobytes((held - baseline) / runs), (after / baseline).toFixed(3)]],
    }
  },
}

async function holdRuns(): Promise<{ readonly baseline: number; readonly held: number; readonly after: number }> {
  const baseline = heapAfterCollection()
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const allWait = Promise.withResolvers<void>()
  const stop = (): Promise<void> => {
    waiting += 1
    if (waiting === runs) allWait.resolve()
    return gate.promise
  }
  const agent = contenderAgent(() => gatedStream(stop), 1)
  const ends = Array.from({ length: runs }, async (_, number) => {
    const run = agent.run('go', { messages: transcript(number) })
    for await (const _event of run);
    return run.result()
  })
  await allWait.promise
  const held = heapAfterCollection()
  gate.resolve()
  await checkAll(ends)
  ends.length = 0
  return { baseline, held, after: heapAfterCollection() }
}

async function checkAll(ends: readonly Promise<AgentResult>[]): Promise<void> {
  const texts = (await Promise.all(ends)).map(({ text }) => text.length)
  if (texts.some((length) => length !== deltas * 4)) throw new Error('A text is not whole')
}

/** Returns ten messages of two thousand characters, different for every run. */
function transcript(number: number): readonly Message[] {
  return Array.from({ length: 10 }, (_, place): Message => {
    const content = Buffer.from(`${number}/${place} `.padEnd(2_000, 'rope ')).toString('latin1')
    return place % 2 === 0 ? { role: 'user', content } : assistantMessage(`m-${number}-${place}`, content)
  })
}

function assistantMessage(id: string, text: string): Message {
  const base = { provider: 'benchmark', modelId: 'answers', stopReason: 'stop', usage: {}, at: 0, timing: { totalMs: 0 } } as const
  return { role: 'assistant', id, content: [{ type: 'text', text }], ...base }
}

/** Stream that waits once, in the middle of its deltas. */
function gatedStream(stop: () => Promise<void>): MessageStream {
  const stream = streamAfter(answers, 0)
  return {
    ...stream,
    async *[Symbol.asyncIterator]() {
      let position = 0
      for await (const event of stream) {
        if (position++ === deltas / 2) await stop()
        yield event
      }
      return undefined
    },
  }
}
