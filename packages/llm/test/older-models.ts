import type { LanguageModelV2, LanguageModelV2CallOptions, LanguageModelV2StreamPart, LanguageModelV3StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV3 } from 'ai/test'
import type { LanguageModelV4StreamPart } from '../src/index.ts'

type Part = LanguageModelV4StreamPart
type Finish = Extract<Part, { type: 'finish' }>

/** Replaces the AI SDK's mock of version 2, which is no longer public. */
export type ModelOfV2 = LanguageModelV2 & { readonly doStreamCalls: readonly LanguageModelV2CallOptions[] }

/** Creates a model of version 3 that sends these parts. Its stream parts differ only for files. */
export function modelOfV3(parts: readonly Part[]): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    provider: 'old.chat',
    modelId: 'v3-model',
    doStream: () => Promise.resolve({ stream: streamOf(parts as LanguageModelV3StreamPart[]) }),
  })
}

/** Creates a model of version 2 that sends these parts. That version has no raw finish reason. */
export function modelOfV2(parts: readonly Part[]): ModelOfV2 {
  const doStreamCalls: LanguageModelV2CallOptions[] = []
  const older = parts.map((part) => (part.type === 'finish' ? finishOfV2(part) : part)) as LanguageModelV2StreamPart[]
  return {
    specificationVersion: 'v2',
    provider: 'older.chat',
    modelId: 'v2-model',
    supportedUrls: {},
    doStreamCalls,
    doStream: (options) => {
      doStreamCalls.push(options)
      return Promise.resolve({ stream: streamOf(older) })
    },
    doGenerate: () => Promise.reject(new Error('not used')),
  }
}

function finishOfV2({ finishReason, usage }: Finish): LanguageModelV2StreamPart {
  const { inputTokens, outputTokens } = usage
  return {
    type: 'finish',
    finishReason: finishReason.unified as 'stop',
    usage: { inputTokens: inputTokens.total, outputTokens: outputTokens.total, totalTokens: undefined },
  }
}

function streamOf<T>(parts: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}
