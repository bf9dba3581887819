import { describe, expect, it } from 'vitest'
import { offlineModel } from '../src/model/offline-model.ts'
import type { Prompt, StreamPart, ToolOutput } from '../src/model/language-model.ts'
import { createPace } from '../src/pace.ts'
import { phrases } from '../src/phrases.ts'
import { manualTime } from './manual-time.ts'

const still = createPace(0, manualTime().clock)

function ask(text: string, ...more: Prompt): Prompt {
  return [{ role: 'system', content: 'You are a demo.' }, { role: 'user', content: [{ type: 'text', text }] }, ...more]
}

function answered(toolName: string, output: ToolOutput, toolCallId = 'call_2_1'): Prompt[number] {
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] }
}

async function partsFor(prompt: Prompt, model = offlineModel({ pace: still })): Promise<StreamPart[]> {
  const { stream } = await model.doStream({ prompt })
  const parts: StreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

function textOf(parts: readonly StreamPart[]): string {
  return parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('')
}

function callsOf(parts: readonly StreamPart[]): unknown[] {
  return parts.flatMap((part) => (part.type === 'tool-call' ? [{ name: part.toolName, input: JSON.parse(part.input) as unknown }] : []))
}

describe('the offline model', () => {
  it('D6: the same history gives the same parts and the same ids', async () => {
    for (const { say } of phrases) {
      expect(await partsFor(ask(say))).toEqual(await partsFor(ask(say)))
    }
  })

  it('D6: ids come from the injected generator', async () => {
    let count = 0
    const model = offlineModel({ pace: still, ids: () => (kind) => `my-${kind}-${++count}` })
    const parts = await partsFor(ask('what is the weather in Oslo and Lima'), model)
    expect(parts.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))).toEqual(['my-call-2', 'my-call-3'])
  })

  it('D6: unknown input never throws and lists what the model understands', async () => {
    const odd = ['', '   ', '42', 'delete everything!', '\u{1F600}'.repeat(500), '"\\n{', 'weather', 'in in in', 'where']
    for (const text of odd) expect((await partsFor(ask(text))).at(-1)).toMatchObject({ type: 'finish' })
    const answer = textOf(await partsFor(ask('what can you do?')))
    for (const { say } of phrases) expect(answer).toContain(say)
  })

  it('D6: a prompt without user message, or with files only, is answered too', async () => {
    expect(textOf(await partsFor([]))).toContain('tell me a story')
    const file: Prompt = [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA==' } }] }]
    expect(textOf(await partsFor(file))).toContain('tell me a story')
  })

  it('tells a story: reasoning first, then Markdown with a table and code, token by token', async () => {
    const parts = await partsFor(ask('Tell me a story, please'))
    const types = parts.map((part) => part.type)
    expect(types.indexOf('reasoning-end')).toBeLessThan(types.indexOf('text-start'))
    expect(textOf(parts)).toMatch(/^\| step \|/m)
    expect(textOf(parts)).toContain('```ts')
    expect(types.filter((type) => type === 'text-delta').length).toBeGreaterThan(100)
  })

  it('asks for the weather of every city in one answer, and compares what came back', async () => {
    const asked = await partsFor(ask('what is the weather in Oslo and Lima?'))
    expect(callsOf(asked)).toEqual([
      { name: 'get_weather', input: { city: 'Oslo' } },
      { name: 'get_weather', input: { city: 'Lima' } },
    ])
    expect(asked.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } })
    const report = await partsFor(
      ask(
        'what is the weather in Oslo and Lima?',
        answered('get_weather', { type: 'json', value: { city: 'Oslo', sky: 'snow', celsius: -3 } }),
        answered('get_weather', { type: 'json', value: { city: 'Lima', sky: 'sun', celsius: 22 } }, 'call_2_2'),
      ),
    )
    expect(textOf(report)).toContain('**Lima** is warmer than Oslo by 25 degrees.')
    expect(report.at(-1)).toMatchObject({ finishReason: { unified: 'stop' } })
  })

  it.each([
    ['index the docs', 'index_docs'],
    ['where am I', 'get_location'],
    ['pay the invoice', 'pay_invoice'],
  ])('calls the tool of "%s" once and answers from its result, whatever the outcome', async (say, toolName) => {
    expect(callsOf(await partsFor(ask(say)))).toEqual([{ name: toolName, input: expect.any(Object) as unknown }])
    const outcomes: ToolOutput[] = [
      { type: 'json', value: { files: 24, words: 9000, place: 'Pier 7', receipt: 'R-1' } },
      { type: 'text', value: 'fine' },
      { type: 'error-text', value: 'it broke' },
      { type: 'error-json', value: { reason: 'it broke' } },
      { type: 'execution-denied' },
      { type: 'content', value: [{ type: 'text', text: 'fine' }] },
    ]
    for (const output of outcomes) {
      const parts = await partsFor(ask(say, answered(toolName, output)))
      expect(callsOf(parts)).toEqual([])
      expect(textOf(parts)).not.toBe('')
    }
  })

  it('never says that an invoice is paid when the outcome is not known', async () => {
    const output: ToolOutput = { type: 'error-text', value: 'The outcome of this call is unknown.' }
    const text = textOf(await partsFor(ask('pay the invoice', answered('pay_invoice', output))))
    expect(text).toContain('I cannot say that invoice 2041 is paid')
    expect(text).toContain('unknown')
  })

  it('streams at the rhythm of its seeded clock, and not at all when nobody moves it', async () => {
    const time = manualTime()
    const model = offlineModel({ pace: createPace(1, time.clock) })
    const { stream } = await model.doStream({ prompt: ask('tell me a story') })
    const reader = stream.getReader()
    expect((await reader.read()).value).toMatchObject({ type: 'stream-start' })
    expect((await reader.read()).value).toMatchObject({ type: 'reasoning-start' })
    let arrived = false
    const delta = reader.read().then((read) => {
      arrived = true
      return read.value
    })
    await time.settle()
    expect(arrived).toBe(false)
    time.advance(40)
    expect(await delta).toMatchObject({ type: 'reasoning-delta' })
    await reader.cancel()
    expect(time.timers()).toBe(0)
  })

  it('stops in the middle of a delay with the reason of the abort signal', async () => {
    const time = manualTime()
    const stopper = new AbortController()
    const model = offlineModel({ pace: createPace(1, time.clock) })
    const { stream } = await model.doStream({ prompt: ask('tell me a story'), abortSignal: stopper.signal })
    const reader = stream.getReader()
    await reader.read()
    await reader.read()
    const delta = reader.read()
    const refused = expect(delta).rejects.toThrow('enough')
    await time.settle()
    stopper.abort(new Error('enough'))
    await refused
    expect(time.timers()).toBe(0)
  })

  it('gives the same content whole as streamed', async () => {
    for (const { say } of phrases) {
      const whole = await offlineModel({ pace: still }).doGenerate({ prompt: ask(say) })
      const text = whole.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
      expect(text).toBe(textOf(await partsFor(ask(say))))
    }
  })
})
