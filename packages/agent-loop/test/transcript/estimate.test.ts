import { describe, expect, it } from 'vitest'
import { ContextEstimate } from '../../src/transcript/estimate.ts'
import { View } from '../../src/transcript/view.ts'
import { answer, call, long, result, testModel, used, user } from '../plugins/compaction/messages.ts'

const other = { provider: 'other', modelId: 'other-model' }

function estimate(): ContextEstimate {
  return new ContextEstimate(testModel)
}

describe('the estimate of the context', () => {
  it('counts characters until there is a real usage, also those of the prompt', () => {
    const context = estimate()
    context.usePrompt(400)
    context.append(user('u1', long(40)))
    expect(context.tokens).toBe(110)
  })

  it('counts an image as 1,200 tokens, and a file of text by its text', () => {
    const context = estimate()
    const file = (mediaType: string) => ({ type: 'file' as const, mediaType, data: { type: 'data' as const, data: long(400) } })
    context.append({ role: 'user', id: 'u1', content: [file('image/png')] })
    expect(context.tokens).toBe(1_200)
    context.append({ role: 'user', id: 'u2', content: [file('text/plain')] })
    expect(context.tokens).toBe(1_275)
  })

  it('counts texts, calls and results', () => {
    const context = estimate()
    context.append(answer('a1', [{ type: 'text', text: long(40) }, call('c1', 'read', { path: 'abc' })]))
    context.append(result('c1', long(400)))
    expect(context.tokens).toBe(Math.ceil((40 + 'read'.length + JSON.stringify({ path: 'abc' }).length + 400) / 4))
  })

  it('A130: the last real usage counts, cached tokens and output included, plus later messages by their characters', () => {
    const context = estimate()
    context.append(user('u1', long(400)))
    context.append(answer('a1', 'yes', { usage: { inputTokens: 5_000, cacheReadTokens: 4_000, noCacheTokens: 1_000, outputTokens: 100 } }))
    expect(context.tokens).toBe(5_100)
    context.append(user('u2', long(40)))
    expect(context.tokens).toBe(5_110)
  })

  it('A130: a prompt that grew since then counts too', () => {
    const context = estimate()
    context.usePrompt(400)
    context.append(user('u1'))
    context.append(answer('a1', 'yes', used(1_000, 0)))
    context.usePrompt(800)
    expect(context.tokens).toBe(1_100)
  })

  it('A130: usage of another model is ignored, and is used again with that model', () => {
    const context = estimate()
    context.append(user('u1', long(400)))
    context.append(answer('a1', long(40), { ...other, ...used(5_000, 100) }))
    expect(context.tokens).toBe(110)
    context.append(user('u2', long(40)))
    context.useModel(other)
    expect(context.tokens).toBe(5_110)
    context.useModel(testModel)
    expect(context.tokens).toBe(120)
  })

  it('A130: usage of failed answers and estimated or missing usage is ignored', () => {
    const context = estimate()
    context.append(user('u1', long(400)))
    context.append(answer('a1', '', { stopReason: 'error', ...used(5_000, 1) }))
    context.append(answer('a2', '', { usage: { inputTokens: 5_000, outputTokens: 1, estimated: true } }))
    context.append(answer('a3', '', used(0, 0)))
    expect(context.tokens).toBe(100)
  })

  it('A130: usage from before the last compaction is ignored, also when the conversation is loaded again', () => {
    const messages = [user('u1', long(400)), answer('a1', '', used(9_000, 1)), user('u2', long(40)), answer('a2', '', used(9_100, 1))]
    const compaction = {
      compactionId: 'k',
      summary: long(100),
      firstKeptMessageId: 'u2',
      lastMessageId: 'a2',
      tokensBefore: 9_101,
      tokensAfter: 60,
      facts: [],
      source: 'default',
      usage: {},
    }
    const view = new View()
    for (const message of messages) view.append(message)
    view.setCompaction(compaction)
    const context = estimate()
    context.restart(view)
    expect(context.tokens).toBeLessThan(100)
    const later = answer('a3', '', used(200, 10))
    view.append(later)
    context.append(later)
    expect(context.tokens).toBe(210)
    const loaded = new View()
    for (const message of [...messages, later]) loaded.append(message)
    loaded.setCompaction(compaction)
    const again = estimate()
    again.restart(loaded)
    expect(again.tokens).toBe(210)
  })

  it('a prompt that becomes known is not counted twice', () => {
    const context = estimate()
    context.append(user('u1', long(400)))
    context.append(answer('a1', '', used(5_000, 0)))
    context.usePrompt(8_000)
    expect(context.tokens).toBe(5_000)
    context.usePrompt(8_040)
    expect(context.tokens).toBe(5_010)
  })

  it('tokens per character are learned from what came after the first request, without the prompt', () => {
    const context = estimate()
    context.append(user('u1', long(2_000)))
    context.append(answer('a1', '', used(90_000, 1)))
    expect(context.tokensPerCharacter).toBe(0.25)
    context.append(user('u2', long(2_000)))
    context.append(answer('a2', '', used(91_000, 1)))
    expect(context.tokensPerCharacter).toBe(0.5)
  })

  it('tokens per character are not learned across views', () => {
    const context = estimate()
    context.append(user('u1', long(40_000)))
    context.append(answer('a1', '', used(10_000, 1)))
    context.append(user('u2', long(2_000)))
    context.append(answer('a2', '', used(600, 1)))
    context.append(user('u3', long(2_000)))
    context.append(answer('a3', '', used(1_100, 1)))
    expect(context.tokensPerCharacter).toBe(0.25)
  })

  it('tokens per character follow real usage, without images, and stay within bounds', () => {
    const context = estimate()
    context.usePrompt(0)
    context.append({
      role: 'user',
      id: 'u1',
      content: [
        { type: 'text', text: long(2_000) },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://x.test/i' } },
      ],
    })
    context.append(answer('a1', '', used(1_200 + 1_000, 1)))
    expect(context.tokensPerCharacter).toBe(0.5)
    context.append(answer('a2', '', used(1_000_000, 1)))
    expect(context.tokensPerCharacter).toBe(2)
  })

  it('a short request does not change tokens per character', () => {
    const context = estimate()
    context.usePrompt(0)
    context.append(user('u1', 'hi'))
    context.append(answer('a1', '', used(900, 1)))
    expect(context.tokensPerCharacter).toBe(0.25)
  })

  it('ephemeral messages count in the call that sends them, and not twice after its answer', () => {
    const context = estimate()
    context.usePrompt(0)
    context.append(user('u1', long(4_000)))
    context.useExtra([user('o1', long(400))])
    expect(context.tokens).toBe(1_100)
    context.append(answer('a1', '', used(1_100, 0)))
    expect(context.tokensPerCharacter).toBe(0.25)
    expect(context.tokens).toBe(1_100)
    context.useExtra([])
    expect(context.tokens).toBe(1_000)
  })
})
