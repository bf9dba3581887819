import type { SessionView } from '@bowline/client'
import { describe, expect, it } from 'vitest'
import { bench, gate, refusal, remoteTool, stores, type Bench } from '../support/bench.ts'
import { allUiFrames, chatBody, chunksOf, messageOf, openChat, postChat, textOf, userMessage } from '../support/chat.ts'

const key = 'tenant:local:s:mine'
const say = (...texts: string[]) => texts.map((text) => ({ text }))
const send = async (it: Bench, messages: readonly object[], rest: object = {}) =>
  messageOf(chunksOf(await allUiFrames(await postChat(it, chatBody(messages, rest)))))
const again = (it: Bench, messages: readonly object[], messageId?: string) =>
  send(it, messages, { trigger: 'regenerate-message', ...(messageId !== undefined && { messageId }) })
const transcript = async (it: Bench) =>
  ((await (await it.get('/api/agent/session/mine')).json()) as SessionView).messages.map((message) => {
    if (message.role !== 'assistant') return 'content' in message ? message.content : message.role
    return `assistant: ${message.content.map((part) => ('text' in part ? part.text : part.type)).join('')}`
  })
const one = userMessage('u1', 'one')
const two = userMessage('u2', 'two')

describe.each(stores)('a regenerated answer, over the $name store', ({ make }) => {
  it('V47: regenerate continues before the message of the answer: a new branch, and nothing is deleted', async () => {
    const it = await bench({ store: make(), steps: say('One.', 'Two.', 'One again.') })
    const first = await send(it, [one])
    await send(it, [one, first, two])
    const other = await again(it, [one], first.id)
    expect([textOf(other), other.id === first.id]).toEqual(['One again.', false])
    expect(await transcript(it)).toEqual(['one', 'assistant: One again.'])
    const branches = await it.runtime.session(key).branches()
    expect(branches.items.map(({ entries, active }) => [entries, active])).toEqual([
      [4, false],
      [2, true],
    ])
    expect(JSON.stringify(it.model.calls[2]?.prompt)).not.toContain('two')
  })

  it('V47: regenerating a later message keeps everything before it', async () => {
    const it = await bench({ store: make(), steps: say('One.', 'Two.', 'Two again.') })
    const first = await send(it, [one])
    await send(it, [one, first, two])
    expect(textOf(await again(it, [one, first, two]))).toBe('Two again.')
    expect(await transcript(it)).toEqual(['one', 'assistant: One.', 'two', 'assistant: Two again.'])
  })

  it('V47: the same request again joins the run of the first one', async () => {
    const it = await bench({ store: make(), steps: say('One.', 'One again.') })
    const first = await send(it, [one])
    const results = await Promise.all([again(it, [one], first.id), again(it, [one], first.id)])
    expect(await again(it, [one], first.id)).toEqual(results[0])
    expect(results[1]).toEqual(results[0])
    expect(it.model.calls).toHaveLength(2)
  })

  it('V47: a message that names no answer is a repeat while its newest answer is in progress, and new work after that', async () => {
    const hold = gate()
    const texts = ['One.', 'Two.', 'Three.']
    const it = await bench({
      store: make(),
      steps: async (_call, index) => {
        if (index === 1) await hold.passed
        return { text: texts[index] ?? '' }
      },
    })
    await send(it, [one])
    const request = chatBody([one], { trigger: 'regenerate-message' })
    const second = await it.post('/api/chat', request)
    const repeat = await it.post('/api/chat', request)
    expect(repeat.headers.get('x-run-id')).toBe(second.headers.get('x-run-id'))
    hold.open()
    const messages = await Promise.all([second, repeat].map(async (response) => messageOf(chunksOf(await allUiFrames(response)))))
    expect(messages.map(textOf)).toEqual(['Two.', 'Two.'])
    expect(textOf(await again(it, [one]))).toBe('Three.')
    expect(await transcript(it)).toEqual(['one', 'assistant: Three.'])
  })

  it('V47: a page that loaded its messages from the session uses their ids there', async () => {
    const it = await bench({ store: make(), steps: say('One.', 'Two.', 'Two again.') })
    const first = await send(it, [one])
    await send(it, [one, first, two])
    const { messages } = (await (await it.get('/api/agent/session/mine')).json()) as SessionView
    expect(textOf(await again(it, [one], messages.at(-1)?.id))).toBe('Two again.')
    expect(await transcript(it)).toEqual(['one', 'assistant: One.', 'two', 'assistant: Two again.'])
  })

  it('V47: Chat regenerates answers, and replaces messages of its own', async () => {
    const it = await bench({ store: make(), steps: say('One.', 'One again.', 'Other.', 'Next.') })
    const chat = openChat(it)
    await chat.sendMessage({ text: 'one' })
    await chat.regenerate()
    expect([chat.status, ...chat.messages.map(textOf)]).toEqual(['ready', 'one', 'One again.'])
    await chat.sendMessage({ text: 'other', messageId: chat.messages[0]?.id ?? '' })
    expect([chat.status, ...chat.messages.map(textOf)]).toEqual(['ready', 'other', 'Other.'])
    await chat.sendMessage({ text: 'next' })
    expect(await transcript(it)).toEqual(['other', 'assistant: Other.', 'next', 'assistant: Next.'])
    expect(it.faults).toEqual([])
  })

  it('V47: refuses to regenerate a message that was never answered, or belongs to others', async () => {
    const it = await bench({
      store: make(),
      steps: [{ text: 'One.' }, { toolCalls: [{ id: 'c', name: 'place', input: {} }] }],
      tools: [remoteTool('place')],
    })
    await refusal(postChat(it, chatBody([one], { trigger: 'regenerate-message', messageId: 'u1' })), 404, 'session-missing')
    await send(it, [one])
    await refusal(postChat(it, chatBody([two], { trigger: 'regenerate-message', messageId: 'nobody' })), 404, 'unknown-entry')
    await refusal(postChat(it, chatBody([], { trigger: 'regenerate-message' })), 400, 'invalid-body')
    const waiting = await send(it, [two])
    const problem = await refusal(postChat(it, chatBody([two], { trigger: 'regenerate-message', messageId: waiting.id })), 409, 'busy')
    expect(problem.runId).toBe(waiting.id)
  })
})
