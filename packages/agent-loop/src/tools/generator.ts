import { isRecord } from '../json.ts'
import type { Emit } from './execute.ts'
import type { ToolChunk } from './tool.ts'

export function isGenerator(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Chunks go to whoever watches; the output is what it returns, its `complete`, or else all its deltas. */
export async function drainGenerator(generator: AsyncIterable<unknown>, emit: Emit): Promise<unknown> {
  const chunks = generator[Symbol.asyncIterator]() as AsyncIterator<unknown, unknown>
  let text = ''
  for (;;) {
    const { done, value } = await chunks.next()
    if (done) return value ?? text
    const chunk = chunkOf(value)
    if (chunk?.type === 'delta') {
      text = chunk.replace ? chunk.delta : text + chunk.delta
      if (emit(chunk.delta, chunk.replace)) continue
    }
    // Over: with its output, with what is no chunk, or because the call has its outcome and nobody waits for more.
    await chunks.return?.()
    if (!chunk) throw new TypeError('a tool must yield texts, deltas or its complete output')
    if (chunk.type === 'delta') return text
    const { type: _type, ...output } = chunk
    return output
  }
}

type Chunk = Exclude<ToolChunk, string>

function chunkOf(value: unknown): Chunk | undefined {
  if (typeof value === 'string') return { type: 'delta', delta: value }
  if (!isRecord(value)) return undefined
  const isChunk = value['type'] === 'complete' || (value['type'] === 'delta' && typeof value['delta'] === 'string')
  return isChunk ? (value as unknown as Chunk) : undefined
}
