import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { answerAfter, argumentDelta, argumentsText, countRole, textDelta, toolName, type Answer, type Watch } from './contender.ts'

/** Source of the parts: `pull` creates one per read; `piped` adds the transform of provider clients. */
export type SourceShape = 'pull' | 'piped'

/** Parts between the start of the stream and its finish. */
interface Script {
  readonly length: number
  readonly finishReason?: 'stop' | 'tool-calls'
  partAt(position: number): LanguageModelV4StreamPart
}

/** Creates a model that answers with `deltas` text deltas of four characters, as fast as it is read. */
export function textModel(deltas: number, shape: SourceShape): LanguageModelV4 {
  return scriptModel(`${shape}-${deltas}`, shape, () => textScript(deltas))
}

/** Creates a model that answers with one tool call. Its arguments come in `deltas` deltas of eight characters. */
export function toolCallModel(deltas: number): LanguageModelV4 {
  const input = `{"text":"${'x'.repeat(deltas * 8 - 10)}"}`
  const script = callScript('call', input, deltas, (position) => input.slice(position * 8, position * 8 + 8))
  return scriptModel(`arguments-${deltas}`, 'pull', () => script)
}

/** Creates a model that gives these answers in order. The number of tool results in the prompt selects the answer. */
export function answersModel(answers: readonly Answer[]): LanguageModelV4 {
  return scriptModel('answers', 'pull', ({ prompt }) => {
    const step = countRole(prompt, 'tool')
    return answerScript(answerAfter(answers, step), step)
  })
}

/** Reads the stream of a model to its end without using it: the cost of the model alone. */
export async function drain(model: LanguageModelV4, { onText }: Watch = {}): Promise<void> {
  const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'go' }] }] })
  const reader = stream.getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (read.value.type === 'text-delta') onText?.()
  }
}

function answerScript(answer: Answer, step: number): Script {
  const text = textScript(answer.text ?? 0)
  if (answer.arguments === undefined) return text
  const input = argumentsText(answer.arguments)
  const call = callScript(`call-${step}`, input, answer.arguments, (position) => argumentDelta(input, position))
  if (answer.text === undefined) return call
  return {
    ...call,
    length: text.length + call.length,
    partAt: (position) => (position < text.length ? text.partAt(position) : call.partAt(position - text.length)),
  }
}

function textScript(deltas: number): Script {
  return {
    length: deltas + 2,
    partAt(position) {
      if (position === 0) return { type: 'text-start', id: '0' }
      if (position > deltas) return { type: 'text-end', id: '0' }
      return { type: 'text-delta', id: '0', delta: textDelta }
    },
  }
}

function callScript(id: string, input: string, deltas: number, deltaAt: (position: number) => string): Script {
  return {
    length: deltas + 3,
    finishReason: 'tool-calls',
    partAt(position) {
      if (position === 0) return { type: 'tool-input-start', id, toolName }
      if (position <= deltas) return { type: 'tool-input-delta', id, delta: deltaAt(position - 1) }
      if (position === deltas + 1) return { type: 'tool-input-end', id }
      return { type: 'tool-call', toolCallId: id, toolName, input }
    },
  }
}

function scriptModel(modelId: string, shape: SourceShape, scriptOf: (options: LanguageModelV4CallOptions) => Script): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'benchmark',
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('The benchmark model only streams')),
    doStream: (options) => Promise.resolve({ stream: streamOf(scriptOf(options), shape) }),
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
      controller.enqueue(finish(script.finishReason ?? 'stop'))
      controller.close()
    },
  })
}

function finish(unified: 'stop' | 'tool-calls'): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
  }
}
