import type { Emit } from './execute.ts'
import type { ToolChunk } from './tool.ts'

export function isGenerator(value: unknown): value is AsyncGenerator<ToolChunk> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Chunks go to whoever watches; the output is what it returns, its `complete`, or else all its deltas. */
export async function drainGenerator(generator: AsyncGenerator<ToolChunk>, emit: Emit): Promise<unknown> {
  let text = ''
  for (;;) {
    const { done, value } = (await generator.next()) as IteratorResult<ToolChunk, unknown>
    if (done) return value ?? text
    if (typeof value === 'object' && value.type === 'complete') {
      const { type: _type, ...output } = value
      await generator.return(undefined)
      return output
    }
    const chunk = typeof value === 'string' ? ({ type: 'delta', delta: value } as const) : value
    text = chunk.replace ? chunk.delta : text + chunk.delta
    if (emit(chunk.delta, chunk.replace)) continue
    // The call has its outcome: a generator that only yields would otherwise go on for ever.
    await generator.return(undefined)
    return text
  }
}
