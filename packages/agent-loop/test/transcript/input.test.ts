import type { ContentPart } from '@bowline/llm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { orderOf, userMessageFor } from '../../src/transcript/input.ts'
import { AgentError, parseInput } from '../../src/index.ts'
import type { AgentInput } from '../../src/index.ts'
import { agentOf, conversation } from '../support/conversation.ts'

const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } } as const

type UserMessageContent = string | readonly ContentPart[]

function isDeeplyFrozen(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen))
}

function circle(): object {
  const self: Record<string, unknown> = {}
  self['self'] = self
  return self
}

describe('input', () => {
  it.each([
    [
      'no data',
      { type: 'image' },
      'input[0].image must be base64, a data: URL of an image in base64, or an http(s) address; received undefined',
    ],
    ['empty data', { type: 'image', image: '' }, 'input[0].image must be base64'],
    ['data of a text', { type: 'image', image: 'data:text/plain;base64,aGk=' }, 'input[0].image must be base64'],
    ['another address', { type: 'image', image: 'file:///etc/passwd' }, 'input[0].image must be base64'],
    ['a media type that is no text', { type: 'image', image: 'aGk=', mediaType: 5 }, 'input[0].mediaType must be a text'],
  ])('A9: refuses an image with %s', (_fault, part, message) => {
    expect(() => agentOf([]).run([part] as never)).toThrow(
      expect.objectContaining({ code: 'invalid-input', message: expect.stringContaining(message) as string }),
    )
  })

  it.each<[string, AgentInput, AgentInput]>([
    ['a text', 'hi', { role: 'user', content: 'hi' }],
    [
      'texts',
      ['a', 'b'],
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
    ['parts', [{ type: 'text', text: 'a' }, image], { role: 'user', content: [{ type: 'text', text: 'a' }, image] }],
    ['user-text', { type: 'user-text', text: 'hi' }, { role: 'user', content: 'hi' }],
    [
      'user-text of texts',
      { type: 'user-text', text: ['a', 'b'] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ],
    ['user-message', { type: 'user-message', content: [image] }, { role: 'user', content: [image] }],
    ['an image in base64', [{ type: 'image', image: 'aGk=', mediaType: 'image/png' }], { role: 'user', content: [image] }],
    [
      'an image as a data URL',
      { type: 'user-message', content: [{ type: 'image', image: 'data:image/png;base64,aGk=' }] },
      { role: 'user', content: [image] },
    ],
    [
      'an image by its first bytes',
      { role: 'user', content: [{ type: 'image', image: 'iVBORw0KGgo=' }] },
      [{ ...image, data: { type: 'data', data: 'iVBORw0KGgo=' } }],
    ],
    [
      'an image of a URL',
      [{ type: 'image', image: 'https://host/a' }],
      [{ type: 'file', mediaType: 'image/*', data: { type: 'url', url: 'https://host/a' } }],
    ],
  ])('A9: %s gives the same stored message as its long form', async (_name, short, long) => {
    const stored = await Promise.all(
      [short, long].map(async (input) => {
        const { result } = await conversation().play(agentOf([{ text: 'ok' }]), input)
        return result.messages[0]
      }),
    )
    expect(stored[0]).toEqual(stored[1])
    expect(stored[0]).toMatchObject({ role: 'user', id: 'msg_1', at: 1_000 })
  })

  it('A9: every form of the same texts or parts gives the same message, frozen', () => {
    const texted = fc.string().filter((text) => text.trim() !== '')
    const part: fc.Arbitrary<ContentPart> = fc.oneof(
      texted.map((text): ContentPart => ({ type: 'text', text })),
      fc
        .record({ filename: fc.string(), providerOptions: fc.constant({ x: { y: 1 } }) }, { requiredKeys: [] })
        .map((more): ContentPart => ({ ...image, ...more })),
    )
    fc.assert(
      fc.property(texted, fc.array(texted, { minLength: 1 }), fc.array(part, { minLength: 1 }), (text, texts, parts) => {
        const textParts = texts.map((each): ContentPart => ({ type: 'text', text: each }))
        const forms: readonly (readonly [UserMessageContent, readonly AgentInput[]])[] = [
          [text, [text, { type: 'user-text', text }, { type: 'user-message', content: text }, { role: 'user', content: text }]],
          [
            textParts,
            [
              texts,
              textParts,
              { type: 'user-text', text: texts },
              { type: 'user-message', content: textParts },
              { role: 'user', content: textParts },
            ],
          ],
          [parts, [parts, { type: 'user-message', content: parts }, { role: 'user', content: parts }]],
        ]
        for (const [content, inputs] of forms) {
          for (const input of inputs) {
            const stored = userMessageFor(input)
            expect(JSON.stringify(stored)).toBe(JSON.stringify({ role: 'user', content }))
            expect(parseInput(input)).toEqual(stored)
            expect(isDeeplyFrozen(stored)).toBe(true)
          }
        }
      }),
      randomRuns(100),
    )
  })

  it('A9: keeps fields of a user message that other software has added', () => {
    const message = { role: 'user', id: 'mine', at: 7, content: 'x', providerOptions: { p: { a: 1 } }, mood: 'good' } as const
    expect(userMessageFor(message)).toEqual(message)
  })

  it.each<[string, unknown]>([
    ['an empty list', []],
    ['a mixed list', ['a', { type: 'text', text: 'b' }]],
    // oxlint-disable-next-line no-sparse-arrays
    ['a list with holes', ['a', , 'b']],
    ['an unknown part', [{ type: 'video', url: 'x' }]],
    ['a file without data', [{ type: 'file', mediaType: 'image/png' }]],
    ['an empty text', ''],
    ['a blank text', ' \n\t'],
    ['blank texts', ['', ' ']],
    ['blank parts', [{ type: 'text', text: ' ' }]],
    ['a blank user-text', { type: 'user-text', text: ' ' }],
    ['user-text of blank texts', { type: 'user-text', text: ['', ' '] }],
    ['a blank user-message', { type: 'user-message', content: '' }],
    ['a blank message', { role: 'user', content: [{ type: 'text', text: '' }] }],
    ['a number', 7],
    ['null', null],
    ['nothing but a type', { type: 'user-text' }],
    ['user-text with parts', { type: 'user-text', text: [{ type: 'text', text: 'a' }] }],
    ['user-text without texts', { type: 'user-text', text: [] }],
    ['user-text with more', { type: 'user-text', text: 'a', id: 'b' }],
    ['user-message with texts', { type: 'user-message', content: ['a'] }],
    ['user-message without content', { type: 'user-message', content: [] }],
    ['an unknown form', { type: 'user-video', url: 'x' }],
    ['a part with wrong options', [{ type: 'text', text: 'a', providerOptions: { x: 1 } }]],
    ['a file with a number for a name', [{ ...image, filename: 7 }]],
    ['a message whose id is empty', { role: 'user', id: '', content: 'x' }],
    ['a message whose time is a text', { role: 'user', at: 'now', content: 'x' }],
    ['a message with wrong options', { role: 'user', content: 'x', providerOptions: [] }],
    ['a value that contains itself', circle()],
    ['an assistant message', { role: 'assistant', content: 'x' }],
    ['a message without content', { role: 'user' }],
    ['a message with a live object', { role: 'user', content: 'x', providerOptions: { when: new Date(0) } }],
    ['no results', { toolResults: [] }],
    ['a result without a form', { toolResults: [{ toolCallId: 'a' }] }],
    ['a result of two forms', { toolResults: [{ toolCallId: 'a', output: 1, error: 'x' }] }],
    ['a result that is not JSON', { toolResults: [{ toolCallId: 'a', output: () => 1 }] }],
    ['a result with an unknown field', { toolResults: [{ toolCallId: 'a', output: 1, status: 'result' }] }],
    ['a result with details of an error', { toolResults: [{ toolCallId: 'a', error: 'x', details: 1 }] }],
    ['a result whose isError is a text', { toolResults: [{ toolCallId: 'a', output: 1, isError: 'yes' }] }],
    ['a result whose path is a text', { toolResults: [{ toolCallId: 'a', output: 1, path: 'b' }] }],
    ['a result that is unknown only a little', { toolResults: [{ toolCallId: 'a', unknown: 'yes' }] }],
    ['results that are no list', { toolResults: { toolCallId: 'a', output: 1 } }],
    ['neither results nor decisions', { toolResults: [], approvals: [] }],
    ['answers with an unknown field', { approvals: [{ approvalId: 'a', decision: 'deny' }], input: 'x' }],
    ['a decision without id', { approvals: [{ decision: 'deny' }] }],
    ['a decision that decides nothing', { approvals: [{ approvalId: 'a', decision: 'perhaps' }] }],
    ['a denial with an input', { approvals: [{ approvalId: 'a', decision: 'deny', input: {} }] }],
    ['a decision whose reason is a number', { approvals: [{ approvalId: 'a', decision: 'deny', reason: 7 }] }],
    ['a decision with an unknown field', { approvals: [{ approvalId: 'a', decision: 'approve', at: 7 }] }],
  ])('A10: %s is refused at once and stores nothing', async (_name, input) => {
    const talk = conversation()
    const agent = agentOf([])
    let thrown: unknown
    try {
      talk.run(agent, input as AgentInput)
    } catch (error) {
      thrown = error
    }
    expect(AgentError.isInstance(thrown) && thrown.code).toBe('invalid-input')
    expect(talk.journal.commits).toEqual([])
    expect((await talk.memory.load()).messages).toEqual([])
  })

  it('A11: copies input when it is accepted', async () => {
    const input = { role: 'user' as const, content: [{ type: 'text' as const, text: 'before' }] }
    const talk = conversation()
    const run = talk.run(agentOf([{ text: 'ok' }]), input)
    input.content[0] = { type: 'text', text: 'after' }
    input.content.push({ type: 'text', text: 'more' })
    const { messages } = await run.result()
    expect(messages[0]?.role === 'user' && messages[0].content).toEqual([{ type: 'text', text: 'before' }])
  })

  it('answers are results, decisions, or both', () => {
    const results = [
      { toolCallId: 'a', path: ['p'], output: null, details: { n: 1 }, isError: true },
      { toolCallId: 'b', error: 'no' },
      { toolCallId: 'c', unknown: true as const },
    ]
    const approvals = [
      { approvalId: 'a', decision: 'approve' as const, input: null, inputHash: 'h', by: 'me' },
      { approvalId: 'b', decision: 'deny' as const, reason: 'r' },
    ]
    expect(orderOf({ toolResults: results })).toEqual({ kind: 'answers', results, approvals: [] })
    expect(orderOf({ approvals })).toEqual({ kind: 'answers', results: [], approvals })
    expect(parseInput({ toolResults: results, approvals })).toEqual({ toolResults: results, approvals })
    expect(parseInput({ toolResults: [], approvals })).toEqual({ approvals })
    expect(orderOf(undefined)).toEqual({ kind: 'resume' })
  })

  it('S208: refuses an empty input by its path; one text or file makes it valid', () => {
    const wanted = 'must be a text that is not blank, or parts with one or a file'
    expect(() => parseInput(' ')).toThrow(new AgentError('invalid-input', `input ${wanted}; received a text of 1 character`))
    expect(() => parseInput({ role: 'user', content: [{ type: 'text', text: '' }] })).toThrow(
      new AgentError('invalid-input', `input.content ${wanted}; received a list of 1`),
    )
    expect(() => agentOf([]).run('x', { overlays: ['a', ''] })).toThrow(
      new AgentError('invalid-input', `overlays[1] ${wanted}; received an empty text`),
    )
    for (const input of [['', 'a'], [{ type: 'text', text: '' }, image], [image]] as const)
      expect(parseInput(input as AgentInput)).toMatchObject({ role: 'user' })
  })

  it('S208: a run refuses a blank steer, follow-up and overlay', async () => {
    const run = agentOf([{ text: 'ok' }]).run('x')
    for (const offer of [run.steer, run.followUp, run.overlay]) expect(() => offer(' ')).toThrow(AgentError)
    expect((await run.result()).status).toBe('completed')
  })

  it('A10: refuses answers as a message, and an empty value as input', () => {
    const code = expect.objectContaining({ code: 'invalid-input' }) as Error
    expect(() => userMessageFor({ toolResults: [{ toolCallId: 'a', output: 1 }] })).toThrow(code)
    expect(() => userMessageFor(undefined as never)).toThrow(code)
    expect(() => parseInput(undefined as never)).toThrow(code)
  })

  it('parseInput returns the stored form of an input, or refuses it', () => {
    expect(parseInput(['a'])).toEqual({ role: 'user', content: [{ type: 'text', text: 'a' }] })
    expect(parseInput({ toolResults: [{ toolCallId: 'a', output: 1 }] })).toEqual({ toolResults: [{ toolCallId: 'a', output: 1 }] })
    expect(() => parseInput([])).toThrow(AgentError)
  })
})
