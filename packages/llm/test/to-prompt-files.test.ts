import { describe, expect, it } from 'vitest'
import type { FilePart, Message, ToPromptOptions } from '../src/index.ts'
import { assistant, codes, convert, result, shape, text, toolCall } from './transcripts.ts'

const file = (mediaType: string): FilePart => ({ type: 'file', mediaType, data: { type: 'data', data: 'AQI=' } })
const note = (value: string): { type: 'text'; text: string } => ({ type: 'text', text: value })
const takes = (input: ToPromptOptions['model']['input'] & object): { model: ToPromptOptions['model'] } => ({
  model: { provider: 'acme.chat', modelId: 'm1', input },
})
const asks = (...content: Extract<Message, { role: 'user' }>['content'] & object[]): Message => ({
  role: 'user',
  content,
})

describe('files that the called model does not accept', () => {
  it('L54: become one line of text per run, which names their kind', () => {
    const messages = [
      asks(note('see'), file('image/png'), file('image/jpeg'), file('audio/wav'), file('text/csv'), note('well?')),
      asks(file('image/png'), note('between'), file('image/png')),
    ]
    const line = (kind: string): string => `[${kind} omitted: the model does not accept it]`
    const image = line('image')
    expect(shape(messages, takes({ image: false, file: false, audio: false }))).toEqual([
      `user: see, ${image}, ${line('audio')}, ${line('file')}, well?`,
      `user: ${image}, between, ${image}`,
    ])
    expect(codes(messages, takes({ image: false, file: false, audio: false }))).toEqual(Array.from({ length: 6 }, () => 'file-unsupported'))
  })

  it('L54: the same holds inside tool results and answers', () => {
    const messages = [
      assistant([file('image/png'), file('image/png'), text('here'), toolCall('c')]),
      { ...result('c'), output: { type: 'content', value: [file('image/png'), note('seen')] } } as const,
    ]
    const line = '[image omitted: the model does not accept it]'
    expect(shape(messages, takes({ image: false }))).toEqual([
      `assistant: ${line}, here, call c`,
      `tool: result c=${JSON.stringify([note(line), note('seen')])}`,
    ])
    const { repairs } = convert(messages, takes({ image: false }))
    expect(repairs.map(({ code, messageIndex }) => `${code} ${messageIndex}`)).toEqual([
      'file-unsupported 0',
      'file-unsupported 0',
      'file-unsupported 1',
    ])
  })

  it('L54: a call keeps its result when a run of files before it is left out', () => {
    const messages = [assistant([file('image/png'), file('image/png'), toolCall('c')]), result('c')]
    expect(shape(messages, takes({ image: false }))[1]).toBe('tool: result c="ok"')
  })

  it('L54: unknown types are sent, and accepted ones', () => {
    const messages = [asks(file('image/png'), file('audio/wav'), file('video/mp4'), file('image'))]
    for (const input of [{}, { image: true }, { image: true, file: true, audio: true }]) {
      expect(shape(messages, takes(input))).toEqual(['user: file, file, file, file'])
      expect(codes(messages, takes(input))).toEqual([])
    }
    expect(shape(messages, takes({ image: false }))).toEqual([
      'user: [image omitted: the model does not accept it], file, file, [image omitted: the model does not accept it]',
    ])
  })
})

describe('tool results as items', () => {
  const answered = (...value: (FilePart | ReturnType<typeof note>)[]): Message[] => [
    assistant([toolCall('c')]),
    { ...result('c'), output: { type: 'content', value } },
  ]
  const output = (messages: readonly Message[], provider = 'acme.chat'): unknown => {
    const model = { provider, modelId: 'm1' }
    const [part] = convert(messages, { model }).prompt.findLast(({ role }) => role === 'tool')?.content ?? []
    return typeof part === 'object' && part.type === 'tool-result' ? part.output : undefined
  }

  it('L52: blank texts are dropped, and a result without items says so, since some clients would send none', () => {
    expect(output(answered(note(' '), note('a')))).toEqual({ type: 'content', value: [note('a')] })
    expect(codes(answered(note(' '), note('a')))).toEqual(['empty-content'])
    expect(output(answered())).toEqual({ type: 'text', value: '' })
  })

  it('L46: for Google each result has exactly one text, so that its client sends one response per call', () => {
    const google = 'google.generative-ai'
    const image = { ...file('image/png') }
    expect(output(answered(note('a'), image, note('b')), google)).toEqual({
      type: 'content',
      value: [note('a\nb'), image],
    })
    const attached = note('The result is attached.')
    expect(output(answered(image), google)).toEqual({ type: 'content', value: [attached, image] })
    expect(output(answered(image, note('a')), google)).toEqual({ type: 'content', value: [image, note('a')] })
    expect(output(answered(note('a'), note('b')))).toEqual({ type: 'content', value: [note('a'), note('b')] })
  })
})
