import { describe, expect, it } from 'vitest'
import { assistant, codes, convert, result, shape, text, toolCall, user } from './transcripts.ts'

const missing = '"No result was recorded for this call."'

describe('calls and results of a transcript', () => {
  it('L46: a call without a result gets one before the next message and at the end', () => {
    const messages = [assistant([toolCall('c1'), toolCall('c2')]), result('c2'), user('and?'), assistant([toolCall('c3')])]
    expect(shape(messages)).toEqual([
      'assistant: call c1, call c2',
      `tool: result c1=${missing}, result c2="ok"`,
      'user: and?',
      'assistant: call c3',
      `tool: result c3=${missing}`,
    ])
    expect(convert(messages).repairs).toEqual([
      { code: 'missing-result', messageIndex: 0, toolCallId: 'c1' },
      { code: 'missing-result', messageIndex: 3, toolCallId: 'c3' },
    ])
  })

  it('L47: a result without a call is removed; of two results the first wins', () => {
    const messages = [result('ghost'), assistant([toolCall('c')]), result('c', 'first'), result('c', 'second'), user('go')]
    expect(shape(messages)).toEqual(['assistant: call c', 'tool: result c="first"', 'user: go'])
    expect(codes(messages)).toEqual(['orphan-result', 'duplicate-result'])
  })

  it('L48: a late result moves to its call; results are in the order of the calls', () => {
    const messages = [assistant([toolCall('c1'), toolCall('c2')]), result('c2', 'two'), user('hurry'), result('c1', 'one')]
    expect(shape(messages)).toEqual(['assistant: call c1, call c2', 'tool: result c1="one", result c2="two"', 'user: hurry'])
    expect(codes(messages)).toEqual(['moved-result'])
  })

  it('L49: repeated ids become unique, and pairs stay in order', () => {
    const messages = [
      assistant([toolCall('c')]),
      result('c', 'first'),
      assistant([toolCall('c'), toolCall('c_2')]),
      result('c', 'second'),
      result('c_2', 'third'),
    ]
    expect(shape(messages)).toEqual([
      'assistant: call c',
      'tool: result c="first"',
      'assistant: call c_2, call c_2_2',
      'tool: result c_2="second", result c_2_2="third"',
    ])
    expect(codes(messages)).toEqual(['renamed-call', 'renamed-call'])
  })

  it('L49: a result belongs to the call right before it, also if an earlier one with its id was never answered', () => {
    const messages = [
      assistant([toolCall('call_0')]),
      user('never mind'),
      assistant([toolCall('call_0')]),
      result('call_0', 'second'),
      result('call_0', 'first, late'),
    ]
    expect(shape(messages)).toEqual([
      'assistant: call call_0',
      'tool: result call_0="first, late"',
      'user: never mind',
      'assistant: call call_0_2',
      'tool: result call_0_2="second"',
    ])
    expect(codes(messages)).toEqual(['renamed-call', 'moved-result'])
  })

  it('L49: the suffix of a second equal id has a form that every provider accepts', () => {
    const calls = ['c', 'c~2', 'c~2~2', 'c_2']
    const messages = [assistant(calls.map((id) => toolCall(id))), ...calls.map((id) => result(id, id))]
    expect(shape(messages)).toEqual([
      'assistant: call c, call c_2, call c_2_2, call c_2_3',
      'tool: result c="c", result c_2="c~2", result c_2_2="c~2~2", result c_2_3="c_2"',
    ])
    // The mark is not a repair: transcripts of this package spell duplicate ids in this way.
    expect(codes(messages)).toEqual(['renamed-call'])
  })

  it('L50: a call without id or name is removed with its result; an invalid call with a result has empty input', () => {
    const messages = [
      assistant([toolCall(''), toolCall('n', { toolName: '' }), toolCall('bad', { input: {}, invalid: 'not-json', inputText: '{"a' })]),
      result(''),
      result('n'),
      result('bad'),
    ]
    expect(shape(messages)).toEqual(['assistant: call bad', 'tool: result bad="ok"'])
    expect(convert(messages).prompt[0]?.content[0]).toMatchObject({ input: {} })
    expect(codes(messages)).toEqual(['dropped-call', 'dropped-call', 'orphan-result', 'orphan-result'])
  })

  it('L51: from an aborted message, text and answered calls are kept, without synthetic results', () => {
    const aborted = assistant(
      [
        { type: 'reasoning', text: 'cut' },
        { type: 'reasoning', text: 'whole', providerMetadata: { acme: { signature: 's' } } },
        text('half'),
        toolCall('done'),
        toolCall('open'),
        toolCall('cut', { input: {}, invalid: 'truncated' }),
      ],
      { stopReason: 'aborted' },
    )
    const messages = [aborted, result('done'), result('cut'), user('go on')]
    expect(shape(messages)).toEqual(['assistant: ~whole, half, call done', 'tool: result done="ok"', 'user: go on'])
    expect(codes(messages)).toEqual(['empty-content', 'dropped-call', 'dropped-call'])
    expect(shape(messages, { history: { aborted: 'drop' } })).toEqual(['user: go on'])
  })

  it('L51: a late result does not restore a call that was removed from an aborted message', () => {
    for (const stopReason of ['aborted', 'error'] as const) {
      const messages = [assistant([text('half'), toolCall('c')], { stopReason }), user('go on'), result('c')]
      expect(shape(messages)).toEqual(stopReason === 'error' ? ['user: go on'] : ['assistant: half', 'user: go on'])
      expect(codes(messages)).toContain('orphan-result')
    }
  })

  it('L51: an errored message is dropped unless it has answered calls', () => {
    const errored = assistant([text('half'), toolCall('c')], { stopReason: 'error' })
    expect(shape([errored, user('again')])).toEqual(['user: again'])
    expect(codes([errored, user('again')])).toEqual(['dropped-message'])
    expect(shape([errored, result('c'), user('again')])).toEqual(['assistant: half, call c', 'tool: result c="ok"', 'user: again'])
    expect(shape([errored, user('again')], { history: { errored: 'keep' } })).toEqual(['assistant: half', 'user: again'])
  })

  it('L92: a longer transcript leaves the earlier prompt unchanged, with repairs and renamed ids', () => {
    const messages = [
      user('one'),
      assistant([toolCall('c'), toolCall('a:b')], { provider: 'other' }),
      result('c', 'first'),
      result('a:b'),
      user(''),
      assistant([toolCall('c'), toolCall('c_2')]),
      result('ghost'),
      result('c_2'),
      result('c', 'second'),
      assistant([text('half')], { stopReason: 'error' }),
      user('two'),
    ]
    const promptOf = (count: number): string => JSON.stringify(convert(messages.slice(0, count)).prompt).slice(0, -1)
    for (const complete of [1, 4, 5, 9, 10]) expect(promptOf(11).startsWith(promptOf(complete))).toBe(true)
  })
})
