import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
import { streamMessage, toPrompt, type Message } from '../src/index.ts'
import { promptOf } from '../src/prompt/prompt-memory.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { transcriptsFor, type Target } from './random-transcripts.ts'
import { assistant } from './transcripts.ts'

const targets: readonly Target[] = [
  { provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' },
  { provider: 'openai.responses', modelId: 'o4-mini' },
  { provider: 'google.generative-ai', modelId: 'gemini-2.5-flash' },
]
const [model] = targets as readonly [Target]
const instructions = 'Be brief.'

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const item of Object.values(Object.freeze(value))) frozen(item)
  return value
}

/** Returns a conversation of this many steps, each with a call and its result. */
function stepsOf(steps: number, idOf = (step: number): string => `call-${step}`): readonly Message[] {
  const messages: Message[] = [{ role: 'user', content: 'go' }]
  for (let step = 0; step < steps; step++) {
    const toolCallId = idOf(step)
    messages.push(assistant([{ type: 'tool-call', toolCallId, toolName: 'x', input: { step } }], { stopReason: 'tool-calls' }), {
      role: 'tool-result',
      toolCallId,
      toolName: 'x',
      output: { type: 'text', value: `${step}` },
    })
  }
  return frozen(messages)
}

describe.each(targets)('a conversation that grows, for $provider', (target) => {
  it('L91: is sent as if it had been converted as a whole', () => {
    fc.assert(
      fc.property(transcriptsFor(target), fc.infiniteStream(fc.integer({ min: 1, max: 3 })), (given, steps) => {
        const messages = frozen(structuredClone(given))
        for (let length = 1; length <= messages.length; length += steps.next().value) {
          const options = { messages: messages.slice(0, length), model: target, instructions }
          expect(promptOf(options)).toEqual(toPrompt(options))
        }
      }),
      randomRuns(200),
    )
  })

  it.each([
    ['ids of its own', stepsOf(6)],
    ['ids that come again', stepsOf(6, (step) => `call-${step % 2}`)],
    [
      'a text between',
      frozen([...stepsOf(2), assistant([{ type: 'text', text: 'and' }]), ...stepsOf(2, (step) => `more-${step}`).slice(1)]),
    ],
  ])('L91: so are steps with %s', (_, messages) => {
    for (let length = 1; length <= messages.length; length++) {
      const options = { messages: messages.slice(0, length), model: target }
      expect(promptOf(options)).toEqual(toPrompt(options))
    }
  })

  it('L91: with a tool of the provider whose result comes one answer later', () => {
    const origin = { provider: target.provider, modelId: target.modelId }
    const messages = frozen<Message[]>([
      { role: 'user', content: 'go' },
      assistant([{ type: 'tool-call', toolCallId: 's', toolName: 'search', input: {}, providerExecuted: true }], {
        ...origin,
        paused: true,
      }),
      assistant(
        [
          { type: 'tool-result', toolCallId: 's', toolName: 'search', result: 'found' },
          { type: 'text', text: 'so' },
        ],
        origin,
      ),
      { role: 'user', content: 'more' },
    ])
    for (let length = 1; length <= messages.length; length++) {
      const options = { messages: messages.slice(0, length), model: target }
      expect(promptOf(options)).toEqual(toPrompt(options))
    }
  })

  it('L91: with another beginning and the same end', () => {
    const messages = stepsOf(3)
    const others = [frozen<Message>({ role: 'user', content: 'a summary' }), ...messages.slice(1)]
    for (const given of [messages, others, messages]) {
      expect(promptOf({ messages: given, model: target })).toEqual(toPrompt({ messages: given, model: target }))
    }
  })

  it('L91: also when it forks, and when another model goes on', () => {
    fc.assert(
      fc.property(transcriptsFor(target), transcriptsFor(target), fc.nat(8), (one, two, shared) => {
        const trunk = frozen(structuredClone(one))
        const fork = [...trunk.slice(0, shared), ...frozen(structuredClone(two))]
        for (const messages of [trunk, fork, trunk, trunk.slice(1)]) {
          for (const used of [target, { ...target, modelId: 'another' }]) {
            if (messages.length === 0) continue
            const options = { messages, model: used }
            expect(promptOf(options)).toEqual(toPrompt(options))
          }
        }
      }),
      randomRuns(100),
    )
  })
})

describe('cached conversions of earlier calls', () => {
  it('L91: are not converted again: the work of a call does not grow with the conversation', () => {
    const reads = { count: 0 }
    const watched = stepsOf(40).map((message): Message => {
      const copy = { ...message }
      const { content } = message as { content?: unknown }
      if (content !== undefined) Object.defineProperty(copy, 'content', { enumerable: true, get: () => (reads.count++, content) })
      return Object.freeze(copy)
    })
    const readsOfCall = (length: number): number => {
      reads.count = 0
      promptOf({ messages: watched.slice(0, length), model })
      return reads.count
    }
    const byStep = Array.from({ length: 40 }, (_, step) => readsOfCall(1 + step * 2))
    expect(byStep[39]).toBe(byStep[5])
    expect(byStep[39]).toBeGreaterThan(0)
  })

  it('L91: are not checked again: a call looks only at messages that the last call did not have', async () => {
    const messages = stepsOf(400)
    const model = scriptedModel(() => ({ text: 'Hi.' }))
    const looksOfCall = async (length: number): Promise<number> => {
      const looks = vi.spyOn(Object, 'isFrozen')
      await streamMessage({ model, messages: messages.slice(0, length) }).result()
      const count = looks.mock.calls.filter(([given]) => messages.includes(given as Message)).length
      looks.mockRestore()
      return count
    }
    await looksOfCall(397)
    const early = await looksOfCall(399)
    await looksOfCall(797)
    expect(await looksOfCall(799)).toBe(early)
    expect(early).toBeGreaterThan(0)
  })

  it('are frozen: a change by a middleware would otherwise reach all later calls', () => {
    const messages = stepsOf(3)
    const { prompt } = promptOf({ messages, model })
    expect(promptOf({ messages, model }).prompt.map((message, place) => message === prompt[place])).not.toContain(false)
    const [{ content }] = prompt as unknown as [{ content: { text: string }[] }]
    expect(() => content.push({ text: 'more' })).toThrow(TypeError)
    expect(() => Object.assign(content[0] ?? {}, { text: 'other' })).toThrow(TypeError)
    prompt.push({ role: 'user', content: [] })
    expect(promptOf({ messages, model }).prompt).toHaveLength(prompt.length - 1)
  })

  it('come before messages that are created for each call', () => {
    const messages = stepsOf(3)
    for (const now of ['one', 'two']) {
      const options = { messages: [...messages, ...['so', now].map((content): Message => ({ role: 'user', content }))], model }
      expect(promptOf(options)).toEqual(toPrompt(options))
    }
  })

  it('are used only for frozen messages: others may have changed', () => {
    const messages = structuredClone(stepsOf(2)) as Message[]
    promptOf({ messages, model })
    Object.assign(messages[0] ?? {}, { content: 'other' })
    expect(promptOf({ messages, model }).prompt[0]).toEqual({ role: 'user', content: [{ type: 'text', text: 'other' }] })
  })
})
