import { setImmediate, setTimeout } from 'node:timers/promises'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { countRole, toolName } from './contender.ts'

/** Form of the user's message to this model, as JSON. */
export interface PacedAnswer {
  readonly deltas: number
  /** Deltas per second. If absent, as fast as they are read, ten per turn of the event loop. */
  readonly perSecond?: number
  /** Length of a delta, if it should be longer than the time in it. */
  readonly characters?: number
  /** Number of tool calls before the last answer. Each is its own step, after a text of the same length. */
  readonly calls?: number
}

const perTurn = 10

/** Returns the current time in ms, comparable between the processes of a machine. */
export const sharedNow = (): number => performance.timeOrigin + performance.now()

/** Model whose deltas each begin with the time at which they were sent. */
export const pacedModel: LanguageModelV4 = {
  specificationVersion: 'v4',
  provider: 'benchmark',
  modelId: 'paced',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('The benchmark model only streams')),
  doStream: (options) => Promise.resolve({ stream: ReadableStream.from(partsOf(options)) }),
}

async function* partsOf({ prompt }: LanguageModelV4CallOptions): AsyncGenerator<LanguageModelV4StreamPart, void, undefined> {
  const { deltas, perSecond, characters = 0, calls = 0 } = askedFor(prompt)
  const step = countRole(prompt, 'tool')
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: '0' }
  const startedAt = performance.now()
  for (let count = 0; count < deltas; count += 1) {
    if (perSecond !== undefined) await setTimeout(Math.max(0, startedAt + (count * 1000) / perSecond - performance.now()))
    else if (count % perTurn === 0) await setImmediate()
    yield { type: 'text-delta', id: '0', delta: `${sharedNow().toFixed(2)} `.padEnd(characters, '.') }
  }
  yield { type: 'text-end', id: '0' }
  const isLast = step >= calls
  if (!isLast) yield { type: 'tool-call', toolCallId: `call-${step}`, toolName, input: JSON.stringify({ text: `${step}` }) }
  const unified = isLast ? 'stop' : 'tool-calls'
  yield {
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } },
  }
}

function askedFor(prompt: LanguageModelV4CallOptions['prompt']): PacedAnswer {
  const question = prompt.findLast((message) => message.role === 'user')?.content[0]
  if (question?.type !== 'text') throw new Error('Nothing was asked for')
  return JSON.parse(question.text) as PacedAnswer
}
