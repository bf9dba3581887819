import { classifyError } from '@bowline/llm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomRuns } from '../../../scripts/test-length.ts'
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

  it('asks for the weather of every city in one answer, and compares the results', async () => {
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

  const outcomes: Readonly<Record<string, ToolOutput>> = {
    json: {
      type: 'json',
      value: {
        files: 24,
        words: 9000,
        place: 'Pier 7',
        receipt: 'R-1',
        report: 'q3-draft',
        deleted: true,
        text: 'said',
        status: 'completed',
        agent: 'x',
        page: 'p',
        says: 's',
        days: 3,
      },
    },
    list: { type: 'json', value: [null, 7] },
    null: { type: 'json', value: null },
    text: { type: 'text', value: 'fine' },
    'error text': { type: 'error-text', value: 'it broke' },
    'error json': { type: 'error-json', value: { reason: 'it broke' } },
    denied: { type: 'execution-denied' },
    'denied with a reason': { type: 'execution-denied', reason: 'it broke' },
    content: { type: 'content', value: [{ type: 'text', text: 'fine' }] },
  }

  /** Tools that each phrase calls, one list per answer that calls tools. */
  const rows: readonly { readonly say: string; readonly calls: readonly (readonly string[])[] }[] = [
    { say: 'what is the weather in Oslo and Lima', calls: [['get_weather', 'get_weather']] },
    { say: 'index the docs', calls: [['index_docs']] },
    { say: 'where am I', calls: [['get_location']] },
    { say: 'delete the report', calls: [['delete_report']] },
    { say: 'research knots', calls: [['delegate_to_researcher']] },
    { say: 'Find out what the library has about knots.', calls: [['search_library'], ['read_page', 'read_page', 'read_page']] },
    {
      say: '<background-task id="bg_1" agent="researcher" status="completed">x</background-task>\n<background-task id="bg_2" …',
      calls: [['background_output', 'background_output']],
    },
    { say: 'ask the worker', calls: [['delegate']] },
    { say: 'ask the colleague', calls: [['delegate']] },
    { say: 'make a plan', calls: [['plan_start'], ['plan_tide', 'plan_crew'], ['plan_write'], ['plan_review']] },
    { say: 'long talk', calls: [['read_logbook'], ['read_logbook'], ['read_logbook']] },
    { say: 'pay the invoice', calls: [['pay_invoice']] },
  ]
  const pages: ToolOutput = { type: 'json', value: { pages: ['a', 'b', 'c', 'd'] } }

  /** Answers each call with a successful result until the model stops calling. Returns its final text. */
  async function endOf(say: string, history: Prompt): Promise<string> {
    const prompt = [...history]
    for (let answers = 0; answers <= 5; answers++) {
      const parts = await partsFor(ask(say, ...prompt))
      const calls = callsOf(parts) as { readonly name: string }[]
      if (calls.length === 0) return textOf(parts)
      prompt.push(...calls.map(({ name }, index) => answered(name, outcomes['json'] as ToolOutput, `call_r${answers}_${index}`)))
    }
    throw new Error(`${say} comes to no end.`)
  }

  it.each(rows)('calls the tools of "$say", and ends whatever the outcome of each is', async ({ say, calls }) => {
    for (const [name, output] of Object.entries(outcomes)) {
      const history: Prompt = []
      for (const [place, names] of calls.entries()) {
        const parts = await partsFor(ask(say, ...history))
        expect(callsOf(parts), say).toMatchObject(names.map((tool) => ({ name: tool })))
        expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } })
        const answers = (given: ToolOutput) => names.map((tool, index) => answered(tool, given, `call_${place}_${index}`))
        const text = await endOf(say, [...history, ...answers(output)])
        expect(text, `${say}: ${name} of ${names[0]}`).not.toMatch(/^$|undefined|NaN|\[object/)
        history.push(...answers(names[0] === 'search_library' ? pages : (outcomes['json'] as ToolOutput)))
      }
    }
  })

  it('D6: no history makes it throw, and the same history gives the same parts again', async () => {
    const text = fc.oneof(
      fc.constantFrom(...rows.map(({ say }) => say), ...phrases.map(({ say }) => say), '<conversation>\n[user]\nfail'),
      fc.string(),
    )
    const tools = fc.constantFrom(...new Set(rows.flatMap(({ calls }) => calls.flat())), 'unknown')
    const json = fc.jsonValue().map((value): ToolOutput => ({ type: 'json', value: value as never }))
    const result = fc
      .tuple(tools, fc.oneof(json, fc.constantFrom(...Object.values(outcomes))))
      .map(([tool, output]) => answered(tool, output))
    const user = text.map((said): Prompt[number] => ({ role: 'user', content: [{ type: 'text', text: said }] }))
    const models = [offlineModel({ pace: still }), offlineModel({ pace: still, isSpare: true })]
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(user, result), { maxLength: 6 }), async (prompt) => {
        for (const model of models) {
          const parts = await partsFor(prompt, model)
          expect(['finish', 'error']).toContain(parts.at(-1)?.type)
          expect(JSON.stringify(await partsFor(prompt, model))).toBe(JSON.stringify(parts))
        }
      }),
      randomRuns(200),
    )
  })

  describe('when a background task ends', () => {
    const reminder: Prompt[number] = {
      role: 'user',
      content: [
        {
          type: 'text',
          text: '<background-task id="bg_1" agent="researcher" status="completed">x</background-task>\nCall background_output …',
        },
      ],
    }
    const found = answered('background_output', { type: 'json', value: { agent: 'researcher', status: 'completed', text: 'Found it.' } })
    const weatherCall: Prompt[number] = {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'call_2_1', toolName: 'get_weather', input: { city: 'Oslo' } }],
    }
    const reading = answered('get_weather', { type: 'json', value: { city: 'Oslo', sky: 'snow', celsius: -3 } })
    const final: Prompt[number] = { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }
    const say = 'what is the weather in Oslo'

    it('reads its result, and does not answer an old question again', async () => {
      expect(callsOf(await partsFor(ask('fail', final, reminder)))).toEqual([{ name: 'background_output', input: { task_id: 'bg_1' } }])
      expect(textOf(await partsFor(ask('fail', final, reminder, found)))).toBe('The researcher is back.\n\nFound it.')
      expect(callsOf(await partsFor(ask('fail', final, reminder, found, final, reminder)))).toHaveLength(1)
    })

    it('if it ends during another answer, the model gives both', async () => {
      expect(callsOf(await partsFor(ask(say, weatherCall, reading, reminder)))).toEqual([
        { name: 'background_output', input: { task_id: 'bg_1' } },
      ])
      const both = textOf(await partsFor(ask(say, weatherCall, reading, reminder, found)))
      expect(both).toContain('That is the weather in Oslo.')
      expect(both).toContain('Found it.')
    })

    it('together with a question, it calls the tools for both', async () => {
      const names = callsOf(await partsFor(ask(say, reminder))).map((call) => (call as { name: string }).name)
      expect(names).toEqual(['get_weather', 'background_output'])
    })
  })

  it('asks for a report by its name, and says how a person changed the arguments', async () => {
    const calls = (say: string) => partsFor(ask(say)).then(callsOf)
    expect(await calls('delete the report')).toEqual([{ name: 'delete_report', input: { report: 'q3-draft', forever: true } }])
    expect(await calls('please delete the report q1-final')).toMatchObject([{ input: { report: 'q1-final' } }])
    const after = (output: ToolOutput) => partsFor(ask('delete the report', answered('delete_report', output))).then(textOf)
    expect(await after({ type: 'json', value: { report: 'q3-draft', deleted: true, forever: true } })).toBe(
      '`q3-draft` is **deleted** for good.',
    )
    expect(await after({ type: 'json', value: { report: 'q3-draft', deleted: true, forever: false } })).toContain('in the bin')
    expect(await after({ type: 'json', value: { report: 'q1-final', deleted: true, forever: true } })).toContain(
      'what you have made of my arguments',
    )
    expect(await after({ type: 'json', value: { report: 'q3-draft', deleted: false, forever: true } })).toContain('nothing to delete')
    expect(await after({ type: 'execution-denied', reason: 'we need it' })).toContain('**not** deleted `q3-draft`: we need it')
    expect(await after({ type: 'error-text', value: 'disk full' })).toContain('not deleted as far as I know. What I was told: disk full')
  })

  it('starts the researcher in the background', async () => {
    expect(callsOf(await partsFor(ask('research the sheet bend')))).toEqual([
      {
        name: 'delegate_to_researcher',
        input: {
          prompt: 'Find out what the library has about the sheet bend.',
          description: 'research the sheet bend',
          run_in_background: true,
        },
      },
    ])
  })

  it('fails as an overloaded provider does, in the middle of an answer; the fallback model answers', async () => {
    const parts = await partsFor(ask('fail'))
    expect(textOf(parts)).not.toBe('')
    const last = parts.at(-1)
    expect(classifyError(last?.type === 'error' ? last.error : undefined)).toMatchObject({
      kind: 'overloaded',
      retryable: true,
      status: 503,
    })
    await expect(offlineModel({ pace: still }).doGenerate({ prompt: ask('fail') })).rejects.toThrow('overloaded')
    const spare = offlineModel({ pace: still, isSpare: true })
    expect(spare.modelId).toBe('bowline-offline-spare')
    expect(textOf(await partsFor(ask('fail'), spare))).toContain('**spare model**')
  })

  it('writes the summary of a compaction, whatever the conversation is about', async () => {
    const conversation =
      '<conversation>\n[user]\npay the invoice, then fail\n\n[call of pay_invoice] {}\n</conversation>\n\nWrite the summary now.'
    const parts = await partsFor(ask(conversation))
    expect(callsOf(parts)).toEqual([])
    expect(textOf(parts)).toMatch(/^## Goal\n/)
    expect(textOf(parts)).toContain('- "pay the invoice, then fail"')
    expect(textOf(parts)).toContain('Tools used: pay_invoice')
    for (const heading of ['Rules from the user', 'Done', 'In progress', 'Blocked', 'Decisions and reasons', 'Next', 'Exact facts'])
      expect(textOf(parts)).toContain(`## ${heading}\n`)
  })

  it('is slow on request: it pauses before each word', async () => {
    const time = manualTime()
    const { stream } = await offlineModel({ pace: createPace(1, time.clock) }).doStream({ prompt: ask('be slow') })
    const reader = stream.getReader()
    await reader.read()
    await reader.read()
    let arrived = false
    const delta = reader.read().then(() => (arrived = true))
    await time.settle()
    time.advance(1499)
    await time.settle()
    expect(arrived).toBe(false)
    time.advance(1)
    await delta
    await reader.cancel()
    expect(time.timers()).toBe(0)
  })

  it('never says that an invoice is paid when the outcome is not known', async () => {
    const output: ToolOutput = { type: 'error-text', value: 'The outcome of this call is unknown.' }
    const text = textOf(await partsFor(ask('pay the invoice', answered('pay_invoice', output))))
    expect(text).toContain('I cannot say that invoice 2041 is paid')
    expect(text).toContain('unknown')
  })

  it('streams at the pace of its seeded clock, and not at all while the clock stands still', async () => {
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

  it('gives the same content in one piece as in a stream', async () => {
    for (const { say } of phrases.filter((phrase) => phrase.say !== 'fail')) {
      const whole = await offlineModel({ pace: still }).doGenerate({ prompt: ask(say) })
      const text = whole.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
      expect(text).toBe(textOf(await partsFor(ask(say))))
    }
  })
})
