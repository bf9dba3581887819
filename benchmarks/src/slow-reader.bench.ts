import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { heapAfterCollection, type Bench } from './harness.ts'

const messages = 100
const sizes = [100, 1_000, 10_000]
const megabyte = 1_000_000

export const bench: Bench = {
  title: 'A reader that falls behind',
  text: [
    `A run of ${messages} messages of so many text deltas each; a reader takes one event and waits for the end. The heap over that of the`,
    'start, after a collection: the highest at the end of any message, and when the run is over, before the reader goes on. What it',
    'misses are deltas of closed messages: it then sees the durable events, which hold every text whole. The bound is those texts, 150 bytes',
    'for each delta of one open message, and one megabyte.',
  ].join('\n'),
  async run() {
    await heldWhileWaiting(sizes[0] ?? 1)
    const rows: string[][] = []
    for (const deltas of sizes) {
      const { highest, atEnd } = await heldWhileWaiting(deltas)
      const total = deltas * messages
      const bound = total * 4 + deltas * 150 + megabyte
      rows.push([total.toLocaleString('en'), ...[total * 4, highest, atEnd, bound].map((bytes) => (bytes / megabyte).toFixed(2))])
    }
    return { head: ['deltas', 'content MB', 'highest MB', 'at the end MB', 'bound MB'], rows }
  },
}

async function heldWhileWaiting(deltas: number): Promise<{ readonly highest: number; readonly atEnd: number }> {
  const script = Array.from({ length: messages }, (_, step) => ({ text: deltas, ...(step < messages - 1 && { arguments: 1 }) }))
  const agent = contenderAgent(functionModel(script), messages)
  const before = heapAfterCollection()
  const run = agent.run('go')
  const slow = run.events()[Symbol.asyncIterator]()
  await slow.next()
  let highest = 0
  for await (const event of run) {
    if (event.type === 'message-end') highest = Math.max(highest, heapAfterCollection() - before)
  }
  const { status } = await run.result()
  const atEnd = heapAfterCollection() - before
  let ends = 0
  for (let next = await slow.next(); next.done !== true; next = await slow.next()) if (next.value.type === 'message-end') ends += 1
  if (status !== 'completed' || ends !== messages) throw new Error(`The run ended as ${status}, the slow reader saw ${ends} messages`)
  return { highest, atEnd }
}
