import { APICallError } from '@ai-sdk/provider'
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
  /** Creates the id of a block or a call. Default: derived from the history, so that equal histories give equal ids. */
  readonly ids?: (prompt: Prompt) => NextId
  /** True for the model that takes over when the first one has failed. Default false. */
  readonly isSpare?: boolean
}

type NextId = (kind: 'block' | 'call') => string

/** Creates a model that needs no key and no network. It returns the same parts for the same history, and never throws. */
export function offlineModel(options: OfflineModelOptions = {}): LanguageModelV4 {
  const { pace = createPace(1, systemClock), ids = idsFromHistory, isSpare = false } = options
  const passagesFor = (prompt: Prompt): readonly Passage[] =>
    together(readPrompt(prompt).map((asked) => pickIntent(asked.text).answer({ ...asked, isSpare })))
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId: isSpare ? 'bowline-offline-spare' : 'bowline-offline',
    supportedUrls: {},
    async doStream(call) {
      return {
        stream: toStream(
          (abortSignal) => streamParts(call.prompt, passagesFor(call.prompt), { abortSignal, pace, next: ids(call.prompt) }),
          call.abortSignal,
        ),
      }
    },
    async doGenerate({ prompt }) {
      const passages = passagesFor(prompt)
      const next = ids(prompt)
      return {
        content: passages.flatMap((passage) => contentOf(passage, next)),
        finishReason: finishReasonOf(passages),
        usage: usageOf(prompt, passages),
        warnings: [],
      }
    },
  }
}

/** Joins the answers to several questions. While one of them needs tools, the others wait. */
function together(answers: readonly (readonly Passage[])[]): readonly Passage[] {
  const working = answers.filter((answer) => answer.some(({ type }) => type === 'call' || type === 'failure'))
  return (working.length > 0 ? working : answers).flat()
}

type Content = Awaited<ReturnType<LanguageModelV4['doGenerate']>>['content'][number]

function contentOf(passage: Passage, next: NextId): readonly Content[] {
  switch (passage.type) {
    case 'call':
      return [{ type: 'tool-call', toolCallId: next('call'), toolName: passage.toolName, input: JSON.stringify(passage.input) }]
    case 'text':
    case 'reasoning':
      return [{ type: passage.type, text: passage.text }]
    case 'failure':
      throw errorOf(passage)
    default:
      return passage satisfies never
  }
}

interface Streaming {
  readonly abortSignal: AbortSignal
  readonly pace: Pace
  readonly next: NextId
}

async function* streamParts(
  prompt: Prompt,
  passages: readonly Passage[],
  { abortSignal, pace, next }: Streaming,
): AsyncGenerator<StreamPart> {
  const latency = seededLatency(JSON.stringify(prompt))
  yield { type: 'stream-start', warnings: [] }
  for (const passage of passages) {
    if (passage.type === 'failure') {
      yield { type: 'error', error: errorOf(passage) }
      return
    }
    const delayMs = passage.type === 'call' ? undefined : passage.delayMs
    for (const part of passage.type === 'call' ? callParts(passage, next('call')) : textParts(passage, next('block'))) {
      if (part.type.endsWith('-delta')) await pace.wait(delayMs ?? latency(), abortSignal)
      yield part
    }
  }
  yield { type: 'finish', finishReason: finishReasonOf(passages), usage: usageOf(prompt, passages) }
}

/** Returns the error that a provider client throws for this answer. */
function errorOf({ status, message }: Extract<Passage, { type: 'failure' }>): APICallError {
  return new APICallError({ message, statusCode: status, url: 'offline:', requestBodyValues: {} })
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
  if (passage.type === 'call') return JSON.stringify(passage.input)
  return passage.type === 'text' || passage.type === 'reasoning' ? passage.text : ''
}

function idsFromHistory(prompt: Prompt): NextId {
  let count = 0
  return (kind) => `${kind}_${prompt.length}_${++count}`
}

function toStream(
  open: (abortSignal: AbortSignal) => AsyncGenerator<StreamPart>,
  abortSignal: AbortSignal | undefined,
): ReadableStream<StreamPart> {
  // If the reader leaves, a delay in progress is aborted.
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
