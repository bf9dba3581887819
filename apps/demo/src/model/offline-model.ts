import { systemClock } from '@bowline/llm'
import { createPace } from '../pace.ts'
import type { Pace } from '../pace.ts'
import type { Passage } from './intent.ts'
import type { LanguageModelV4, Prompt, StreamPart } from './language-model.ts'
import { seededLatency } from './latency.ts'
import { pickIntent } from './pick-intent.ts'
import { readPrompt } from './read-prompt.ts'
import { tokensOf } from './tokens.ts'

export interface OfflineModelOptions {
  readonly pace?: Pace
  /** Makes the id of a block or a call. Default: counted from the history, so equal histories give equal ids. */
  readonly ids?: (prompt: Prompt) => NextId
}

type NextId = (kind: 'block' | 'call') => string

/** A model without key and network. It must give the same parts for the same history, and never throw for an input. */
export function offlineModel(options: OfflineModelOptions = {}): LanguageModelV4 {
  const { pace = createPace(1, systemClock), ids = idsFromHistory } = options
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId: 'bowline-offline',
    supportedUrls: {},
    async doStream(call) {
      return { stream: toStream((abortSignal) => streamParts(call.prompt, abortSignal, pace, ids(call.prompt)), call.abortSignal) }
    },
    async doGenerate(call) {
      const passages = passagesFor(call.prompt)
      const next = ids(call.prompt)
      return {
        content: passages.map((passage) =>
          passage.type === 'call'
            ? { type: 'tool-call', toolCallId: next('call'), toolName: passage.toolName, input: JSON.stringify(passage.input) }
            : { type: passage.type, text: passage.text },
        ),
        finishReason: finishReasonOf(passages),
        usage: usageOf(call.prompt, passages),
        warnings: [],
      }
    },
  }
}

function passagesFor(prompt: Prompt): readonly Passage[] {
  const question = readPrompt(prompt)
  return pickIntent(question.text).answer(question)
}

async function* streamParts(prompt: Prompt, abortSignal: AbortSignal, pace: Pace, next: NextId): AsyncGenerator<StreamPart> {
  const passages = passagesFor(prompt)
  const latency = seededLatency(JSON.stringify(prompt))
  yield { type: 'stream-start', warnings: [] }
  for (const passage of passages) {
    for (const part of passage.type === 'call' ? callParts(passage, next('call')) : textParts(passage, next('block'))) {
      if (part.type.endsWith('-delta')) await pace.wait(latency(), abortSignal)
      yield part
    }
  }
  yield { type: 'finish', finishReason: finishReasonOf(passages), usage: usageOf(prompt, passages) }
}

function* textParts(passage: Extract<Passage, { text: string }>, id: string): Generator<StreamPart> {
  yield { type: `${passage.type}-start`, id }
  for (const delta of tokensOf(passage.text)) yield { type: `${passage.type}-delta`, id, delta }
  yield { type: `${passage.type}-end`, id }
}

function* callParts(passage: Extract<Passage, { type: 'call' }>, id: string): Generator<StreamPart> {
  const input = JSON.stringify(passage.input)
  yield { type: 'tool-input-start', id, toolName: passage.toolName }
  for (const delta of tokensOf(input)) yield { type: 'tool-input-delta', id, delta }
  yield { type: 'tool-input-end', id }
  yield { type: 'tool-call', toolCallId: id, toolName: passage.toolName, input }
}

function finishReasonOf(passages: readonly Passage[]): { unified: 'tool-calls' | 'stop'; raw: undefined } {
  return { unified: passages.some((passage) => passage.type === 'call') ? 'tool-calls' : 'stop', raw: undefined }
}

function usageOf(prompt: Prompt, passages: readonly Passage[]) {
  const read = tokensOf(JSON.stringify(prompt)).length
  const count = (type: Passage['type']): number =>
    passages.reduce((sum, passage) => sum + (passage.type === type ? tokensOf(textOf(passage)).length : 0), 0)
  const reasoning = count('reasoning')
  const text = count('text') + count('call')
  return {
    inputTokens: { total: read, noCache: read, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: text + reasoning, text, reasoning },
  }
}

function textOf(passage: Passage): string {
  return passage.type === 'call' ? JSON.stringify(passage.input) : passage.text
}

function idsFromHistory(prompt: Prompt): NextId {
  let count = 0
  return (kind) => `${kind}_${prompt.length}_${++count}`
}

function toStream(
  open: (abortSignal: AbortSignal) => AsyncGenerator<StreamPart>,
  abortSignal: AbortSignal | undefined,
): ReadableStream<StreamPart> {
  // A reader that leaves must not wait for the delay that is running.
  const left = new AbortController()
  const parts = open(abortSignal ? AbortSignal.any([abortSignal, left.signal]) : left.signal)
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      const next = await parts.next()
      if (next.done) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: (reason) => left.abort(reason),
  })
}
