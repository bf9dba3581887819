import { isRecord } from '../base/json.ts'
import type { ToolChunk } from '../contract/tool.ts'
import { isReturnValue } from './output.ts'

export function isGenerator(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Takes a delta of a running call. False once the call has its outcome: what comes after that is dropped. */
export type Emit = (delta: string, replace?: true) => boolean

/** Chunks go to the readers of the run. Gives what it returns, its `complete`, or else all its deltas; undefined if it has none. */
export async function drainGenerator(generator: AsyncIterable<unknown>, emit: Emit): Promise<unknown> {
  const chunks = generator[Symbol.asyncIterator]() as AsyncIterator<unknown, unknown>
  let text: string | undefined
  for (;;) {
    const { done, value } = await chunks.next()
    if (done) return value === undefined ? text : value
    const chunk = chunkOf(value)
    if (chunk?.type === 'delta') {
      text = chunk.replace ? chunk.delta : (text ?? '') + chunk.delta
      if (emit(chunk.delta, chunk.replace)) continue
    }
    // Over: with its output, with what is no chunk, or because the call has its outcome already.
    await chunks.return?.()
    if (!chunk) throw new TypeError('a tool must yield texts, deltas or its complete output')
    if (chunk.type === 'delta') return text
    const { type: _type, ...complete } = chunk
    if (!isReturnValue(complete)) throw new TypeError('a complete chunk must have output, and beside it only details, isError and terminate')
    return complete
  }
}

type Chunk = Exclude<ToolChunk, string>

function chunkOf(value: unknown): Chunk | undefined {
  if (typeof value === 'string') return { type: 'delta', delta: value }
  if (!isRecord(value)) return undefined
  const isChunk = value['type'] === 'complete' || (value['type'] === 'delta' && typeof value['delta'] === 'string')
  return isChunk ? (value as unknown as Chunk) : undefined
}
