import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

/** Streams many small deltas in a separate process and reports the memory of the stored message. */
const script = (read: string): string => `
  import { readEvents, streamMessage } from '@bowline/llm'
  const deltas = 250_000
  const usage = { inputTokens: {}, outputTokens: {} }
  const source = (count) => {
    let place = 0
    return new ReadableStream({
      pull(controller) {
        if (place++ < count) return controller.enqueue({ type: 'text-delta', id: 't', delta: String(place % 10_000).padStart(4, '0') })
        controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage })
        controller.close()
      },
    })
  }
  const call = async (count) => {
    const doStream = async () => ({ stream: source(count) })
    const stream = streamMessage({
      model: { specificationVersion: 'v4', provider: 'p', modelId: 'm', supportedUrls: {}, doStream },
      messages: [{ role: 'user', content: 'x' }],
    })
    ${read}
    return stream
  }
  await call(1_000)
  gc()
  const before = process.memoryUsage().heapUsed
  const held = await call(deltas)
  gc()
  const after = process.memoryUsage().heapUsed
  const [part] = (await held.result()).content
  console.log(JSON.stringify({ length: part.text.length, retained: after - before }))`

describe('memory', () => {
  it.each([
    ['read event by event', 'for await (const event of stream) void event'],
    ['handed over', 'await readEvents(stream, () => {})'],
    ['drained by result()', 'await stream.result()'],
  ])('L99: memory held after many small deltas is proportional to the message, %s', { timeout: 60_000 }, async (_, read) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...bundledFlags(),
      '--expose-gc',
      '--input-type=module',
      '-e',
      script(read),
    ])
    const { length, retained } = JSON.parse(stdout) as { length: number; retained: number }
    expect(length).toBe(1_000_000)
    expect(retained).toBeLessThan(4 * length + 1_000_000)
  })
})
