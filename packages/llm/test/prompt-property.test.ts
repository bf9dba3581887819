import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import { toPrompt, type LanguageModelV4Prompt, type Message } from '../src/index.ts'
import { promptProblems } from './prompt-rules.ts'
import { transcriptsFor, type Target } from './random-transcripts.ts'

const targets: readonly Target[] = [
  { provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' },
  { provider: 'openai.responses', modelId: 'o4-mini' },
  { provider: 'openai.chat', modelId: 'gpt-4o' },
  { provider: 'compatible.chat', modelId: 'some-model' },
  { provider: 'google.generative-ai', modelId: 'gemini-2.5-flash' },
]
const noResult = 'No result was recorded for this call.'

const promptOf = (messages: readonly Message[], model: Target): LanguageModelV4Prompt =>
  toPrompt({ messages, model, instructions: 'Be brief.' }).prompt

/** Replaces invented results, because a real result may replace them later. */
const withoutMadeUp = (messages: LanguageModelV4Prompt): unknown[] =>
  messages.map((message) => (message.role === 'tool' && JSON.stringify(message).includes(noResult) ? 'results' : message))

/** Cuts the prompt before a turn that the provider has not ended. Its open call is dropped if the conversation continues without it. */
function ended(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const answered = new Set(
    prompt
      .flatMap((message) => (message.role === 'assistant' ? message.content : []))
      .flatMap((part) => (part.type === 'tool-result' ? [part.toolCallId] : [])),
  )
  const open = prompt.findIndex(
    (message) =>
      message.role === 'assistant' &&
      message.content.some((part) => part.type === 'tool-call' && part.providerExecuted && !answered.has(part.toolCallId)),
  )
  return open === -1 ? prompt : prompt.slice(0, open)
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const item of Object.values(Object.freeze(value))) frozen(item)
  return value
}

describe.each(targets)('any transcript, for $provider', (target) => {
  it('L41: converts in the same way when it is frozen, to new objects at each call', () => {
    fc.assert(
      fc.property(transcriptsFor(target), (messages) => {
        const expected = JSON.stringify(promptOf(messages, target))
        const kept = frozen(structuredClone(messages))
        for (const message of promptOf(kept, target)) {
          if (typeof message.content !== 'string') (message.content as unknown[]).reverse().push('more')
          Object.assign(message, { role: 'changed' })
        }
        expect(JSON.stringify(promptOf(kept, target))).toBe(expected)
      }),
      randomRuns(100),
    )
  })

  it('L41–L53: converts to a prompt that may be sent, the same each time, and stays unchanged', () => {
    fc.assert(
      fc.property(transcriptsFor(target), (messages) => {
        const before = JSON.stringify(messages)
        const prompt = promptOf(messages, target)
        expect(promptProblems(prompt)).toEqual([])
        expect(JSON.stringify(promptOf(structuredClone(messages), target))).toBe(JSON.stringify(prompt))
        expect(JSON.stringify(messages)).toBe(before)
      }),
      randomRuns(100),
    )
  })

  it('L92: a message at the end leaves the prompt of the earlier ones unchanged', () => {
    fc.assert(
      fc.property(transcriptsFor(target), (messages) => {
        const whole = promptOf(messages, target)
        for (let count = 1; count < messages.length; count++) {
          // The model is called only when all results of its last answer are present.
          if (messages[count]?.role === 'tool-result') continue
          const earlier = withoutMadeUp(ended(promptOf(messages.slice(0, count), target)))
          const later = whole
            .slice(0, earlier.length)
            .map((message, index) => (earlier[index] === 'results' && message.role === 'tool' ? 'results' : message))
          expect(later).toEqual(earlier)
        }
      }),
      randomRuns(100),
    )
  })
})
