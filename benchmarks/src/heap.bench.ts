import { streamMessage } from '@bowline/llm'
import { heapAfterCollection, type Bench } from './harness.ts'
import { textModel } from './models.ts'

const sizes = [10_000, 100_000, 1_000_000]
const megabyte = 1_000_000

export const bench: Bench = {
  title: 'Memory behind a message',
  text: [
    'The heap that is still held when all text deltas of four characters have been read and the message is kept, after a collection. The',
    'bound is four times the content and one megabyte.',
  ].join('\n'),
  async run() {
    // The first call loads code that all later ones share.
    await heldBytes(sizes[0] ?? 0)
    const rows: string[][] = []
    for (const deltas of sizes) {
      const content = deltas * 4
      const held = await heldBytes(deltas)
      rows.push([deltas.toLocaleString('en'), inMegabytes(content), inMegabytes(held), inMegabytes(content * 4 + megabyte)])
    }
    return { head: ['deltas', 'content MB', 'held MB', 'bound MB'], rows }
  },
}

async function heldBytes(deltas: number): Promise<number> {
  const before = heapAfterCollection()
  const stream = streamMessage({ model: textModel(deltas, 'pull'), messages: [{ role: 'user', content: 'go' }] })
  let seen = 0
  for await (const event of stream) if (event.type === 'text-delta') seen += 1
  const held = heapAfterCollection() - before
  const [part] = (await stream.result()).content
  if (seen !== deltas || part?.type !== 'text' || part.text.length !== deltas * 4) throw new Error(`${seen} of ${deltas} deltas arrived`)
  return held
}

function inMegabytes(bytes: number): string {
  return (bytes / megabyte).toFixed(2)
}
