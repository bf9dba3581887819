import { describe, expect, it } from 'vitest'
import {
  streamMessage,
  type AssistantMessage,
  type Download,
  type FilePart,
  type LanguageModelV4,
  type LanguageModelV4Prompt,
  type Message,
  type ModelRequest,
} from '../src/index.ts'
import { scriptedModel } from '../src/testing/index.ts'
import { settle } from './support.ts'
import { assistant, result, toolCall, user } from './transcripts.ts'

const file = (url: string, mediaType = 'image/*'): FilePart => ({ type: 'file', mediaType, data: { type: 'url', url } })
const asks = (...content: FilePart[]): Message => ({ role: 'user', content })
const bytes = (url: URL): Uint8Array => new TextEncoder().encode(url.pathname)
const base64 = (path: string): string => btoa(path)
const fetched: Download = (url) => Promise.resolve({ data: bytes(url), mediaType: 'image/png' })

interface Outcome {
  readonly message: AssistantMessage
  readonly prompt: LanguageModelV4Prompt | undefined
}

async function outcome(request: Partial<ModelRequest>, supportedUrls: LanguageModelV4['supportedUrls'] = {}): Promise<Outcome> {
  const model = Object.assign(scriptedModel([{ text: 'ok' }]), { supportedUrls })
  const message = await streamMessage({ model, messages: [user('hi')], ...request }).result()
  return { message, prompt: model.calls[0]?.prompt }
}

type UserPart = Extract<LanguageModelV4Prompt[number], { role: 'user' }>['content'][number]
type PromptFile = Extract<UserPart, { type: 'file' }>

/** Returns all files of the prompt: their URL, or their bytes as text. */
function filesOf(prompt: LanguageModelV4Prompt | undefined): string[] {
  const files: string[] = []
  const see = ({ mediaType, data }: Pick<PromptFile, 'mediaType' | 'data'>): void => {
    const source = data.type === 'url' ? data.url.href : data.type === 'data' ? atob(data.data as string) : data.type
    files.push(`${mediaType} ${source}`)
  }
  for (const { content } of prompt ?? []) {
    for (const part of typeof content === 'string' ? [] : content) {
      if (part.type === 'file' || part.type === 'reasoning-file') see(part)
      if (part.type !== 'tool-result' || part.output.type !== 'content') continue
      for (const item of part.output.value) if (item.type === 'file') see(item)
    }
  }
  return files
}

describe('files that are given by their URL', () => {
  it('L55: without download they are passed on, whatever the model supports', async () => {
    const { prompt } = await outcome({ messages: [asks(file('https://a.test/1.png'))] })
    expect(filesOf(prompt)).toEqual(['image/* https://a.test/1.png'])
  })

  it('L55: download is called for files that the model does not fetch, each URL once, all at once', async () => {
    const asked: string[] = []
    const answers: (() => void)[] = []
    const download: Download = (url) => {
      asked.push(url.href)
      return new Promise((resolve) => answers.push(() => resolve({ data: bytes(url), mediaType: 'image/png' })))
    }
    const same = file('https://a.test/1.png')
    const messages = [
      asks(same, file('https://b.test/2.png'), same),
      assistant([file('https://a.test/3.png'), toolCall('c')]),
      { ...result('c'), output: { type: 'content', value: [file('https://a.test/4.png'), same] } } as const,
    ]
    const running = outcome({ messages, download }, { 'image/*': [/^https:\/\/b\.test\//] })
    while (answers.length === 0) await settle()
    expect(asked).toEqual(['https://a.test/1.png', 'https://a.test/3.png', 'https://a.test/4.png'])
    for (const answer of answers) answer()
    const { prompt, message } = await running
    expect(message.stopReason).toBe('stop')
    expect(filesOf(prompt)).toEqual([
      'image/png /1.png',
      'image/* https://b.test/2.png',
      'image/png /1.png',
      'image/png /3.png',
      'image/png /4.png',
      'image/png /1.png',
    ])
    expect(prompt?.[0]?.content[0]).toEqual({
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: base64('/1.png') },
    })
  })

  it.each([
    { pattern: '*', mediaType: 'audio/wav', passedOn: true },
    { pattern: '*/*', mediaType: 'image', passedOn: true },
    { pattern: 'image/*', mediaType: 'IMAGE/png', passedOn: true },
    { pattern: 'image/*', mediaType: 'image', passedOn: true },
    { pattern: 'Image/PNG', mediaType: 'image/png', passedOn: true },
    { pattern: 'image/png', mediaType: 'image/jpeg', passedOn: false },
    { pattern: 'image/png', mediaType: 'image', passedOn: false },
    { pattern: 'image/*', mediaType: 'imagery/png', passedOn: false },
    { pattern: 'audio/*', mediaType: 'image/png', passedOn: false },
  ])('L55: a model that fetches $pattern: is $mediaType passed on? $passedOn', async (row) => {
    const { pattern, mediaType, passedOn } = row
    const messages = [asks(file('https://a.test/1', mediaType))]
    const { prompt } = await outcome({ messages, download: fetched }, { [pattern]: [/^https:/] })
    expect(filesOf(prompt)).toEqual([passedOn ? `${mediaType} https://a.test/1` : 'image/png /1'])
  })

  it('L55: supported URLs may come later, and a regular expression with lastIndex is reset', async () => {
    const expression = /^https:\/\/a\.test/g
    const supported = Promise.resolve({ 'image/*': [expression] })
    const messages = [asks(file('https://a.test/1'), file('https://a.test/2'), file('https://b.test/3'))]
    const { prompt } = await outcome({ messages, download: fetched }, supported)
    expect(filesOf(prompt)).toEqual(['image/* https://a.test/1', 'image/* https://a.test/2', 'image/png /3'])
  })

  it('L55: the same URL may be passed on as one kind of file and fetched as another', async () => {
    const messages = [asks(file('https://a.test/1'), file('https://a.test/1', 'audio/wav'))]
    const { prompt } = await outcome({ messages, download: fetched }, { 'image/*': [/^https:/] })
    expect(filesOf(prompt)).toEqual(['image/* https://a.test/1', 'image/png /1'])
  })

  it('L55: fetches only files that are sent', async () => {
    const asked: string[] = []
    const download: Download = (url, signal) => (asked.push(url.href), fetched(url, signal))
    const messages = [
      assistant([file('https://a.test/failed')], { stopReason: 'error' }),
      assistant([{ ...file('https://a.test/thought'), type: 'reasoning-file' }]),
      asks({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } }, file('no url')),
      user('hi'),
    ]
    expect((await outcome({ messages, download })).message.stopReason).toBe('stop')
    expect(asked).toEqual([])
  })

  it('L55: a download that fails ends the call with an error before output, and the model is not called', async () => {
    const messages = [asks(file('https://a.test/1.png'), file('https://a.test/2.png'))]
    const refused = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
    const failures: Download[] = [
      () => Promise.reject(refused),
      () => {
        throw refused
      },
    ]
    for (const download of failures) {
      const { message, prompt } = await outcome({ messages, download })
      expect(message).toMatchObject({ stopReason: 'error', error: { kind: 'network', phase: 'before-output' } })
      expect(prompt).toBeUndefined()
    }
  })

  it.each([
    ['nothing', undefined],
    ['a buffer', { data: new Uint8Array([1, 2]).buffer, mediaType: 'image/png' }],
    ['no media type', { data: new Uint8Array([1]) }],
  ])('L55: a download that gives %s ends the call, and is not retryable', async (_, given) => {
    const download = (): Promise<never> => Promise.resolve(given as never)
    const { message, prompt } = await outcome({ messages: [asks(file('https://a.test/1.png'))], download })
    expect(message.error).toMatchObject({ kind: 'config', retryable: false })
    expect(message.error?.message).toContain('download must return')
    expect(prompt).toBeUndefined()
  })

  it('L55: an abort ends a download, also one that ignores it', async () => {
    const model = scriptedModel([{ text: 'ok' }])
    const signals: AbortSignal[] = []
    const download: Download = (_url, signal) => {
      signals.push(signal)
      return new Promise(() => undefined)
    }
    const stream = streamMessage({ model, messages: [asks(file('https://a.test/1.png'))], download })
    const message = stream.result()
    while (signals.length === 0) await settle()
    stream.abort('enough')
    expect(await message).toMatchObject({ stopReason: 'aborted', abortReason: 'enough' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(model.calls).toEqual([])
  })
})
