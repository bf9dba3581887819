import type { JSONValue } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryJournal, defineAgent, defineTool } from '../../src/index.ts'
import type { ToolOptions, ToolReturnValue } from '../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import type { CrashPoint } from '@bowline/testing'
import { agentOf, conversation } from '../support/conversation.ts'

const named = { name: 'w', description: 'x', inputSchema: z.object({}) }
type Options = Partial<ToolOptions<typeof named.inputSchema>>

/** Returns the result of a call of a tool with these options. */
async function outcomeOf(options: Options) {
  const agent = agentOf([{ toolCalls: [{ id: 'x', name: 'w', input: {} }] }, { text: 'done' }], {
    tools: [defineTool({ ...named, ...options })],
  })
  const { result } = await conversation().play(agent, 'go')
  expect(result.status).toBe('completed')
  return result.messages.find((message) => message.role === 'tool-result')
}

function outcomeOfValue(value: unknown) {
  return outcomeOf({ execute: () => value as string })
}

const text = (value: string) => ({ type: 'text', value })
const json = (value: JSONValue) => ({ type: 'json', value })
const part = { type: 'text', text: 'see' }
const picture = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } }
const content = { type: 'content', value: [part, picture] }

const returned: readonly [what: string, value: unknown, outcome: object][] = [
  ['nothing', undefined, { status: 'result', output: text('done') }],
  ['a string', 'sunny', { status: 'result', output: text('sunny') }],
  ['an empty string', '', { status: 'result', output: text('') }],
  ['an object', { city: 'Oslo', days: [1, { dry: true }] }, { status: 'result', output: json({ city: 'Oslo', days: [1, { dry: true }] }) }],
  ['an empty object', {}, { status: 'result', output: json({}) }],
  ['a list', [1, 'a', null], { status: 'result', output: json([1, 'a', null]) }],
  ['an empty list', [], { status: 'result', output: json([]) }],
  ['a number', 7, { status: 'result', output: json(7) }],
  ['null', null, { status: 'result', output: json(null) }],
  ['false', false, { status: 'result', output: json(false) }],
  ['keys without a value', { a: undefined, b: 1 }, { status: 'result', output: json({ b: 1 }) }],
  ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), { status: 'result', output: json({ a: 1 }) }],
  ['an output', { output: { n: 1 } }, { status: 'result', output: json({ n: 1 }) }],
  ['an output of nothing', { output: undefined, details: 1 }, { status: 'result', output: text('done'), details: 1 }],
  [
    'an output with all that may stand beside it',
    { output: 'no', details: [1], isError: true, terminate: false },
    { status: 'error', output: { type: 'error-text', value: 'no' }, details: [1] },
  ],
  ['an output with an unknown key', { output: 1, foo: 2 }, { status: 'result', output: json({ output: 1, foo: 2 }) }],
  [
    'an output with an unknown key, and details',
    { output: 1, details: 2, foo: 3 },
    { status: 'result', output: json({ output: 1, details: 2, foo: 3 }) },
  ],
  ['details without an output', { details: 2 }, { status: 'result', output: json({ details: 2 }) }],
  ['content', content, { status: 'result', output: content }],
  ['content as output', { output: content }, { status: 'result', output: content }],
  ['content parts', [part, picture], { status: 'result', output: content }],
  [
    'content parts as output',
    { output: [picture], details: 1 },
    { status: 'result', output: { type: 'content', value: [picture] }, details: 1 },
  ],
  ['content parts with more in them', [{ ...part, speaker: 'me' }], { status: 'result', output: json([{ ...part, speaker: 'me' }]) }],
  ['content parts among others', [part, 1], { status: 'result', output: json([part, 1]) }],
  ['content parts of an error', { output: [part], isError: true }, { status: 'error', output: { type: 'error-json', value: [part] } }],
]

class Money {
  readonly amount = 1
}
const ring: Record<string, unknown> = {}
ring['next'] = { back: ring }
const hostile = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('hostile')
    },
  },
)

const refused: readonly [what: string, value: unknown, named: string][] = [
  ['a date', { user: { born: new Date(0) } }, '/user/born is not a JSON value (Date)'],
  ['a date by itself', new Date(0), 'the value is not a JSON value (Date)'],
  ['a function', { run: () => 1 }, '/run is not a JSON value (function)'],
  ['a function by itself', () => 1, 'the value is not a JSON value (function)'],
  ['a bigint', [0, { n: 1n }], '/1/n is not a JSON value (bigint)'],
  ['a symbol', { s: Symbol('s') }, '/s is not a JSON value (symbol)'],
  ['a number that JSON lacks', { ratio: Number.NaN }, '/ratio is not a JSON value (NaN)'],
  ['a number without end', { ratio: Number.POSITIVE_INFINITY }, '/ratio is not a JSON value (Infinity)'],
  ['a class instance', { price: new Money() }, '/price is not a JSON value (Money)'],
  ['an instance of a class without a name', Object.create(Object.create(null) as object), 'the value is not a JSON value (object)'],
  ['a map', new Map(), 'the value is not a JSON value (Map)'],
  ['a hole', [1, undefined], '/1 is not a JSON value (undefined)'],
  ['an object in itself', ring, '/next/back contains itself'],
  ['an output', { output: { at: new Date(0) } }, '/output/at is not a JSON value (Date)'],
  ['details', { output: 'x', details: { live: new Map() } }, '/details/live is not a JSON value (Map)'],
  ['isError', { output: 'x', isError: 'yes' }, 'true or false as isError'],
  ['terminate', { output: 'x', terminate: 1 }, 'true or false as terminate'],
  ['what throws when it is looked at', hostile, 'hostile'],
  ['what throws in an output', { output: hostile }, 'hostile'],
]

describe('the return value of a tool', () => {
  it.each(returned)('A190: %s has its outcome', async (_what, value, outcome) => {
    const { status, output, details } = (await outcomeOfValue(value)) ?? {}
    expect({ status, output, ...(details !== undefined && { details }) }).toEqual(outcome)
  })

  it.each(returned)('A190: %s is the same from a promise and at the end of a generator', async (_what, value, outcome) => {
    expect(await outcomeOf({ execute: () => Promise.resolve(value as string) })).toMatchObject(outcome)
    expect(
      await outcomeOf({
        async *execute() {
          yield 'a'
          return await Promise.resolve(value as string)
        },
      }),
    ).toMatchObject(value === undefined ? { output: text('a') } : outcome)
  })

  it.each(refused)('A190: a value that is not JSON fails the call and is named: %s', async (_what, value, named) => {
    const error = {
      status: 'error',
      output: { type: 'error-text', value: expect.stringMatching(/^the tool has run, but its output cannot be used: /) as string },
    }
    for (const execute of [
      () => value as string,
      () => Promise.resolve(value as string),
      async function* () {
        yield 'a'
        return await Promise.resolve(value as string)
      },
    ] satisfies Options['execute'][]) {
      const outcome = await outcomeOf({ execute })
      expect(outcome).toMatchObject(error)
      expect(outcome?.output).toMatchObject({ value: expect.stringContaining(named) as string })
      expect(outcome?.details).toBeUndefined()
    }
  })

  it.each<[string, readonly unknown[], object]>([
    ['yields nothing', [], { status: 'result', output: text('done') }],
    ['yields an empty text', [''], { status: 'result', output: text('') }],
    ['yields texts', ['a', { type: 'delta', delta: 'b' }], { status: 'result', output: text('ab') }],
    ['completes', ['a', { type: 'complete', output: 1, details: 2 }], { status: 'result', output: json(1), details: 2 }],
    [
      'completes with no JSON',
      [{ type: 'complete', output: { at: 1n } }],
      { status: 'error', output: { value: expect.stringContaining('/output/at') as string } },
    ],
    [
      'completes without output',
      [{ type: 'complete' }],
      { status: 'error', output: { value: expect.stringContaining('a complete chunk must have output') as string } },
    ],
    [
      'completes with an unknown key',
      [{ type: 'complete', output: 1, foo: 2 }],
      { status: 'error', output: { value: expect.stringContaining('a complete chunk must have output') as string } },
    ],
  ])('A190: the output of a generator that %s', async (_what, chunks, outcome) => {
    expect(
      await outcomeOf({
        async *execute() {
          await Promise.resolve()
          yield* chunks as readonly string[]
        },
      }),
    ).toMatchObject(outcome)
  })

  it('A190: toModelOutput gets the output of a plain object, and its result must be JSON', async () => {
    const seen: ToolReturnValue[] = []
    const execute = () => ({ output: 1, foo: 2 })
    expect(
      await outcomeOf({
        execute,
        toModelOutput: (value) => {
          seen.push(value)
          return { type: 'text', value: 'shown' }
        },
      }),
    ).toMatchObject({ output: text('shown') })
    expect(
      await outcomeOf({
        execute: () => undefined,
        toModelOutput: (value) => {
          seen.push(value)
          return { type: 'text', value: 'shown' }
        },
      }),
    ).toMatchObject({ output: text('shown') })
    expect(seen).toEqual([{ output: { output: 1, foo: 2 } }, { output: 'done' }])
    const live = await outcomeOf({ execute, toModelOutput: () => ({ type: 'json', value: { at: new Date(0) } as never }) })
    expect(live).toMatchObject({
      status: 'error',
      output: { value: expect.stringContaining('/value/at is not a JSON value (Date)') as string },
    })
  })

  it('A190: the value may change after the tool has returned it', async () => {
    const shared = { list: [1] }
    const outcome = await outcomeOf({
      execute: () => {
        setImmediate(() => shared.list.push(2))
        return shared
      },
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(outcome?.output).toEqual(json({ list: [1] }))
  })
})

/** Returns the outcome that is stored finally if a process dies at one commit and another one resumes. */
async function storedOutcome(value: unknown, point: CrashPoint, options: Options) {
  const tools = [defineTool({ ...named, execute: () => value as string, ...options })]
  // It answers by what it is shown, as a real model would.
  const model = scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === 'tool') ? { text: 'done' } : { toolCalls: [{ id: 'x', name: 'w', input: {} }] },
  )
  const agent = defineAgent({ model, tools, retry: false })
  const memory = createMemoryJournal()
  const journal = crashingJournal(memory, point)
  await agent.run('go', { journal }).result()
  if (!journal.crashed) return undefined
  const { open, messages } = await memory.load()
  if (open !== undefined || messages.length === 0) {
    const { status } = await agent.run(messages.length === 0 ? 'go' : undefined, { journal: memory }).result()
    expect(status).toBe('completed')
  }
  const results = (await memory.load()).messages.filter((message) => message.role === 'tool-result')
  expect(results).toHaveLength(1)
  return results[0]
}

describe('the return value of a tool before a crash', () => {
  const kinds = [
    'nothing',
    'an object',
    'an output with all that may stand beside it',
    'an output with an unknown key',
    'content parts',
    'a date',
    'details',
  ]
  const cases = [...returned, ...refused].flatMap(([what, value]) => (kinds.includes(what) ? [[what, value] as const] : []))

  it.each(cases)('A190, A171: a crash at any commit does not change the outcome of %s', async (_what, value) => {
    const { status, output, details } = (await outcomeOfValue(value)) ?? {}
    const reconcile: Options['reconcile'] = () => Promise.resolve({ happened: true, result: value as string })
    for (const options of [{ effect: 'pure' as const }, { effect: 'once' as const, reconcile }]) {
      let crashes = 0
      for (let commit = 1; ; commit++) {
        const stored = await Promise.all((['before', 'after'] as const).map((when) => storedOutcome(value, { commit, when }, options)))
        if (stored.every((each) => each === undefined)) break
        crashes++
        for (const each of stored)
          expect({ status: each?.status, output: each?.output, details: each?.details }).toEqual({ status, output, details })
      }
      expect(crashes).toBeGreaterThanOrEqual(4)
    }
  })

  it('A190: no outcome is stored before it was checked', async () => {
    const stored: unknown[] = []
    const seen: string[] = []
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => {
          for (const record of records) if (record.type === 'call') seen.push(record.call.state)
          stored.push(...records)
          return journal.commit(records, expect)
        },
      }),
    })
    const tool = defineTool({ ...named, execute: () => ({ when: new Date(0) }) as never })
    await talk.play(agentOf([{ toolCalls: [{ id: 'x', name: 'w', input: {} }] }, { text: 'done' }], { tools: [tool] }), 'go')
    expect(seen).toEqual(['started', 'error'])
    expect(JSON.parse(JSON.stringify(stored))).toEqual(stored)
  })
})
