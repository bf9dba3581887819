import { describe, expect, it } from 'vitest'
import type { AssistantMessage, AssistantPart, ToPromptOptions } from '../src/index.ts'
import { assistant, codes, convert, result, shape, text, toolCall, user } from './transcripts.ts'

const at = (provider: string): { model: ToPromptOptions['model'] } => ({ model: { provider, modelId: 'm1' } })
const signed = (value: string): AssistantPart => ({
  type: 'reasoning',
  text: value,
  providerMetadata: { acme: { signature: value } },
})
const searches = (toolCallId: string): AssistantPart => toolCall(toolCallId, { providerExecuted: true })
const found = (toolCallId: string): AssistantPart => ({ type: 'tool-result', toolCallId, toolName: 'x', result: 1 })

describe('signed reasoning, which providers accept only with the content that followed it', () => {
  const cut = (content: readonly AssistantPart[]): AssistantMessage => assistant(content, { stopReason: 'aborted' })

  it('L51: is not sent when nothing came after it', () => {
    expect(shape([cut([text('half'), signed('r')]), user('go')])).toEqual(['assistant: half', 'user: go'])
    expect(codes([cut([signed('r')]), user('go')])).toEqual(['empty-content', 'dropped-message'])
    expect(shape([assistant([signed('r')], { stopReason: 'length' }), user('go')])).toEqual(['user: go'])
  })

  it('L51: is not sent without the call that followed it', () => {
    const messages = [cut([signed('r1'), toolCall('open'), signed('r2'), toolCall('done')]), result('done')]
    expect(shape(messages)).toEqual(['assistant: ~r2, call done', 'tool: result done="ok"'])
    expect(codes(messages)).toEqual(['dropped-call', 'empty-content'])
  })

  it('L51: is sent when one of the calls that followed it is', () => {
    const messages = [cut([signed('r1'), signed('r2'), toolCall('open'), toolCall('done')]), result('done')]
    expect(shape(messages)[0]).toBe('assistant: ~r1, ~r2, call done')
  })
})

describe('tools that the provider runs itself', () => {
  it('L56: a call that was left open beside calls of the caller stays until the next answer', () => {
    const both = assistant([searches('s'), toolCall('c')], { stopReason: 'tool-calls' })
    expect(shape([both, result('c')])).toEqual(['assistant: call s, call c', 'tool: result c="ok"'])
    const answered = [both, result('c'), assistant([found('s'), text('done')])]
    expect(shape(answered)).toEqual(['assistant: call s, call c', 'tool: result c="ok"', 'assistant: result s=1, done'])
    expect(codes(answered)).toEqual([])
    expect(shape([both, result('c'), assistant([text('done')])])[0]).toBe('assistant: call c')
    expect(shape([both, result('c'), user('go')])[0]).toBe('assistant: call c')
  })

  it('L56: a paused turn goes on in the next answer', () => {
    const paused = assistant([text('wait'), searches('s')], { paused: true })
    expect(shape([paused, assistant([found('s'), text('done')])])).toEqual(['assistant: wait, call s', 'assistant: result s=1, done'])
  })

  it('L56: an answer that is not sent does not end the turn', () => {
    const paused = assistant([searches('s')], { paused: true })
    const failed = assistant([found('s'), text('half')], { stopReason: 'error' })
    expect(shape([paused, failed])).toEqual(['assistant: call s'])
    expect(shape([paused, failed, assistant([found('s')])])).toEqual(['assistant: call s', 'assistant: result s=1'])
  })

  it('L51: an aborted answer leaves no call open', () => {
    const messages = [assistant([searches('s'), toolCall('c')], { stopReason: 'aborted' }), result('c')]
    expect(shape(messages)).toEqual(['assistant: call c', 'tool: result c="ok"'])
    expect(codes(messages)).toEqual(['dropped-call'])
  })

  it('L47: a call has one result, in its own answer or in the next', () => {
    const both = assistant([searches('s'), found('s')], { paused: true })
    expect(shape([both, assistant([found('s'), text('a')])])[1]).toBe('assistant: a')
    const open = assistant([searches('s')], { paused: true })
    expect(shape([open, assistant([found('s'), found('s'), text('a')])])[1]).toBe('assistant: result s=1, a')
  })

  it('L47: a result without its call is removed', () => {
    const messages = [assistant([found('ghost'), searches('s'), found('s'), found('s'), text('a')])]
    expect(shape(messages)).toEqual(['assistant: call s, result s=1, a'])
    expect(codes(messages)).toEqual(['orphan-result', 'orphan-result'])
    const paused = assistant([searches('s'), text('a')], { paused: true })
    const afterUser = [paused, user('go'), assistant([found('s'), text('b')])]
    expect(shape(afterUser)).toEqual(['assistant: a', 'user: go', 'assistant: b'])
  })

  it('L45: unsent calls of another provider reserve no id', () => {
    const foreign = assistant([searches('c'), found('c'), text('a')], { provider: 'other' })
    const messages = [foreign, assistant([toolCall('c')]), result('c')]
    expect(shape(messages)).toEqual(['assistant: a', 'assistant: call c', 'tool: result c="ok"'])
    expect(codes(messages)).toEqual(['foreign-part', 'foreign-part'])
  })

  it('L49: their ids are unique among all ids', () => {
    const messages = [
      assistant([toolCall('c')]),
      result('c'),
      assistant([searches('c'), found('c'), text('a')]),
      assistant([searches('c'), found('c'), text('b')]),
    ]
    expect(shape(messages).filter((line) => line.startsWith('assistant'))).toEqual([
      'assistant: call c',
      'assistant: call c_2, result c_2=1, a',
      'assistant: call c_3, result c_3=1, b',
    ])
  })
})

describe('restrictions of single vendors', () => {
  const blank = assistant([{ type: 'text', text: ' ', providerMetadata: { acme: { id: 1 } } }, text('a')])

  it('L52: a blank text with metadata is sent, but not to Anthropic', () => {
    expect(shape([blank])).toEqual(['assistant:  , a'])
    const toAnthropic = { ...blank, provider: 'anthropic.messages' }
    expect(shape([toAnthropic], at('anthropic.messages'))).toEqual(['assistant: a'])
    expect(codes([toAnthropic], at('anthropic.messages'))).toEqual(['empty-content'])
  })

  it('L46: Google accepts calls only after a user turn or after results, so a user turn is inserted before them', () => {
    const google = at('google.generative-ai')
    const messages = [
      assistant([toolCall('a')]),
      result('a'),
      assistant([text('half')], { stopReason: 'aborted' }),
      assistant([toolCall('b')]),
      result('b'),
      assistant([toolCall('c')]),
      result('c'),
      assistant([text('one')]),
      assistant([text('two')]),
    ]
    expect(shape(messages, google).map((line) => line.slice(0, 18))).toEqual([
      'user: Continue.',
      'assistant: call a',
      'tool: result a="ok',
      'assistant: half',
      'user: Continue.',
      'assistant: call b',
      'tool: result b="ok',
      'assistant: call c',
      'tool: result c="ok',
      'assistant: one',
      'assistant: two',
    ])
    expect(convert(messages, google).repairs).toEqual([
      { code: 'added-turn', messageIndex: 0 },
      { code: 'added-turn', messageIndex: 3 },
    ])
    expect(codes(messages)).toEqual([])
  })

  it('L46: models of Anthropic at Google follow the rules of Anthropic', () => {
    expect(codes([assistant([toolCall('a')]), result('a')], at('googleVertex.anthropic.messages'))).toEqual([])
  })
})

describe('aborted answers, which a provider with a store does not keep', () => {
  const item = { providerMetadata: { openai: { itemId: 'i' } } }
  const content: readonly AssistantPart[] = [
    { type: 'reasoning', text: 'hm', ...item },
    { type: 'text', text: 'half', ...item },
    toolCall('s', { providerExecuted: true, ...item }),
    { ...found('s'), ...item },
    toolCall('fc:1', item),
  ]
  const answer = (provider: string, stopReason: AssistantMessage['stopReason']): AssistantMessage =>
    assistant(content, { provider, stopReason })
  const sent = (provider: string, stopReason: AssistantMessage['stopReason']): string =>
    JSON.stringify(convert([answer(provider, stopReason), result('fc:1')], at(provider)).prompt)

  it.each(['openai.responses', 'azure.responses'])('L51: %s is not sent the ids of their items', (provider) => {
    for (const stopReason of ['aborted', 'error'] as const) {
      const messages = [answer(provider, stopReason), result('fc:1')]
      expect(shape(messages, at(provider))).toEqual(['assistant: half, call fc:1', 'tool: result fc:1="ok"'])
      expect(codes(messages, at(provider))).toEqual(['empty-content', 'foreign-part', 'foreign-part'])
      expect(sent(provider, stopReason)).not.toContain('itemId')
    }
  })

  it('L43: a complete answer is referenced by its ids, and other providers use theirs', () => {
    for (const stopReason of ['stop', 'tool-calls', 'length'] as const) {
      expect(sent('openai.responses', stopReason).split('itemId')).toHaveLength(6)
    }
    expect(sent('acme.chat', 'aborted').split('itemId')).toHaveLength(6)
  })
})

describe('values outside the types', () => {
  it('L56: unknown parts, outputs and items are left out, and the rest is sent', () => {
    const messages = [
      { role: 'user', content: [null, { type: 'hologram' }, { type: 'text', text: 'a' }] } as never,
      assistant([null as never, toolCall('c'), toolCall('d')]),
      { ...result('c'), output: { type: 'hologram' } } as never,
      { ...result('d'), output: { type: 'content', value: [{ type: 'hologram' }, text('b')] } } as never,
    ]
    expect(shape(messages)).toEqual([
      'user: a',
      'assistant: call c, call d',
      'tool: result c="No result was recorded for this call.", result d=[{"type":"text","text":"b"}]',
    ])
    expect(codes(messages)).toEqual(['foreign-part', 'foreign-part', 'foreign-part', 'foreign-part', 'foreign-part'])
  })
})
