import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'

/** How the parts reach the reader: `pull` makes one per read, `piped` adds the transform that provider clients have. */
export type SourceShape = 'pull' | 'piped'

/** The parts between the start of the stream and its finish. */
interface Script {
  readonly length: number
  partAt(position: number): LanguageModelV4StreamPart
}

/** A model that answers with `deltas` text deltas of four characters, as fast as it is read. */
export function textModel(deltas: number, shape: SourceShape): LanguageModelV4 {
  return scriptModel(`${shape}-${deltas}`, shape, {
    length: deltas + 2,
    partAt(position) {
      if (position === 0) return { type: 'text-start', id: '0' }
      if (position > deltas) return { type: 'text-end', id: '0' }
      return { type: 'text-delta', id: '0', delta: 'knot' }
    },
  })
}

/** A model that answers with one tool call, whose arguments come in `deltas` deltas of eight characters. */
export function toolCallModel(deltas: number): LanguageModelV4 {
  const input = `{"text":"${'x'.repeat(deltas * 8 - 10)}"}`
  const id = 'call'
  return scriptModel(`arguments-${deltas}`, 'pull', {
    length: deltas + 3,
    partAt(position) {
      if (position === 0) return { type: 'tool-input-start', id, toolName: 'write' }
      if (position <= deltas) return { type: 'tool-input-delta', id, delta: input.slice(position * 8 - 8, position * 8) }
      if (position === deltas + 1) return { type: 'tool-input-end', id }
      return { type: 'tool-call', toolCallId: id, toolName: 'write', input }
    },
  })
}

/** What a model costs by itself: its stream read to the end, and nothing made of it. */
export async function drain(model: LanguageModelV4): Promise<void> {
  const { stream } = await model.doStream({ prompt: [] })
  const reader = stream.getReader()
  while (!(await reader.read()).done);
}

function scriptModel(modelId: string, shape: SourceShape, script: Script): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'benchmark',
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('The benchmark model only streams')),
    doStream: () => Promise.resolve({ stream: streamOf(script, shape) }),
  }
}

function streamOf(script: Script, shape: SourceShape): ReadableStream<LanguageModelV4StreamPart> {
  const source = pullSource(script)
  return shape === 'pull' ? source : source.pipeThrough(new TransformStream())
}

function pullSource(script: Script): ReadableStream<LanguageModelV4StreamPart> {
  let next = -1
  return new ReadableStream<LanguageModelV4StreamPart>({
    pull(controller) {
      const position = next++
      if (position === -1) return controller.enqueue({ type: 'stream-start', warnings: [] })
      if (position < script.length) return controller.enqueue(script.partAt(position))
      controller.enqueue(finish)
      controller.close()
    },
  })
}

const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
}
