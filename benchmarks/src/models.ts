import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'

/** How the parts reach the reader: `pull` makes one per read, `piped` adds the transform that provider clients have. */
export type SourceShape = 'pull' | 'piped'

/** A model that answers with `deltas` text deltas of four characters, as fast as it is read. */
export function textModel(deltas: number, shape: SourceShape): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'benchmark',
    modelId: `${shape}-${deltas}`,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('The benchmark model only streams')),
    doStream: () => Promise.resolve({ stream: textStream(deltas, shape) }),
  }
}

/** What a model costs by itself: its stream read to the end, and nothing made of it. */
export async function drain(model: LanguageModelV4): Promise<void> {
  const { stream } = await model.doStream({ prompt: [] })
  const reader = stream.getReader()
  while (!(await reader.read()).done);
}

function textStream(deltas: number, shape: SourceShape): ReadableStream<LanguageModelV4StreamPart> {
  const source = pullSource(deltas)
  return shape === 'pull' ? source : source.pipeThrough(new TransformStream())
}

function pullSource(deltas: number): ReadableStream<LanguageModelV4StreamPart> {
  let next = -2
  return new ReadableStream<LanguageModelV4StreamPart>({
    pull(controller) {
      controller.enqueue(partAt(next, deltas))
      if (next === deltas + 1) controller.close()
      next += 1
    },
  })
}

function partAt(position: number, deltas: number): LanguageModelV4StreamPart {
  if (position === -2) return { type: 'stream-start', warnings: [] }
  if (position === -1) return { type: 'text-start', id: '0' }
  if (position < deltas) return { type: 'text-delta', id: '0', delta: 'knot' }
  if (position === deltas) return { type: 'text-end', id: '0' }
  return {
    type: 'finish',
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: deltas, text: deltas, reasoning: 0 },
    },
  }
}
