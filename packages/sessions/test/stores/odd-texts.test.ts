import { defineTool } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import type { Step } from '@bowline/llm/testing'
import { createMemories, type Runtime, type SessionStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../testing/src/crash-kit/seeded-random.ts'
import { setup } from '../support.ts'
import { namesOfPlaces, placesOfStores } from './places.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'

const random = seededRandom(17)
/** Random, because Postgres compresses what repeats. */
const long = Array.from({ length: 65_536 }, () => Math.floor(random() * 36).toString(36)).join('')
/** Two high halves, which must stay distinct, a low half, NUL, and the character with which databases escape them. */
const short = ['a\ud83d', 'a\ud83e', '\udc00b', 'a\0b', 'a\u0001\u0003d83d']
const every = [...short, long]

/** A runtime, and the answers that its model gives next. */
interface Bench {
  readonly runtime: Runtime
  readonly answers: Step[]
}

/** Stores the text as one argument, and returns it as it is read back. */
type Argument = (bench: Bench, key: string, text: string) => Promise<unknown>

const schema = { type: 'object' } as const
const echo = { description: 'Echoes.', inputSchema: schema, effect: 'once', execute: (input: JSONValue) => input } as const
const look = defineTool({ ...echo, name: 'look' })
const ask = defineTool({ ...echo, name: 'ask', needsApproval: true })

/** Reads what the export of the session holds, once it was imported under another key. */
async function copied(runtime: Runtime, key: string, pick: (message: Message) => readonly unknown[]): Promise<readonly unknown[]> {
  const copy = await runtime.importSession(runtime.session(key).export({ events: true, allBranches: true }), { key: `${key}-copy` })
  const [{ items }, { items: copies }] = await Promise.all([runtime.session(key).messages(), copy.messages()])
  expect(copies).toEqual(items)
  return copies.flatMap(pick)
}

type Message = Awaited<ReturnType<ReturnType<Runtime['session']>['messages']>>['items'][number]

const idsAndNames = (message: Message): readonly unknown[] => {
  if (message.role === 'tool-result') return [message.toolCallId, message.toolName]
  if (message.role === 'user') return []
  return message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId, part.toolName] : []))
}

const place = placesOfStores()
const postgres = postgresPlace()

/** Arguments whose every text is kept. */
const kept: Readonly<Record<string, Argument>> = {
  async 'metadata and its keys'({ runtime }, key, text) {
    await runtime.session(key, { metadata: { [text]: text } }).open()
    const copy = await runtime.importSession(runtime.session(key).export(), { key: `${key}-copy` })
    const [[name, value] = []] = Object.entries((await copy.info())?.metadata ?? {})
    return name === text && value
  },
  async owner({ runtime }, key, text) {
    await runtime.session(key, { owner: text }).open()
    expect(await runtime.session(key, { owner: `${text}x` }).info()).toBeNull()
    return (await runtime.session(key, { owner: text }).info()) && text
  },
  async 'an input and its answer'({ runtime, answers }, key, text) {
    answers.push({ text })
    await (await runtime.session(key).send(text)).result()
    const [input, answer] = await copied(runtime, key, (message) => (message.role === 'tool-result' ? [] : [message.content]))
    expect(answer).toMatchObject([{ type: 'text' }])
    return input
  },
  async 'the input and output of a tool'({ runtime, answers }, key, text) {
    const part = text.slice(0, 10_000)
    answers.push({ toolCalls: [{ id: 'call', name: 'look', input: { [part]: part } }] })
    await (await runtime.session(key).send('go')).result()
    const [input, output] = await copied(runtime, key, (message) => {
      if (message.role === 'tool-result') return [message.output]
      return message.role === 'user' ? [] : message.content.flatMap((part) => (part.type === 'tool-call' ? [part.input] : []))
    })
    expect([input, output]).toEqual([{ [part]: part }, { type: 'json', value: { [part]: part } }])
    return text
  },
  async 'the name of a tool that there is not'({ runtime, answers }, key, text) {
    answers.push({ toolCalls: [{ id: 'call', name: text, input: {} }] })
    await (await runtime.session(key).send('go')).result()
    const [, name, , sameName] = await copied(runtime, key, idsAndNames)
    return name === sameName && name
  },
  async 'the reason and author of a denial'({ runtime, answers }, key, text) {
    answers.push({ toolCalls: [{ id: 'call', name: 'ask', input: {} }] })
    const session = runtime.session(key)
    const { pendingApprovals } = await (await session.send('go')).result()
    const reason = text.slice(0, 10_000)
    const { by, run } = await session.deny(pendingApprovals[0]?.approvalId ?? '', { reason, by: text })
    const { messages } = await run.result()
    expect(messages).toContainEqual(expect.objectContaining({ status: 'denied', output: { type: 'execution-denied', reason } }))
    return by
  },
  async 'the state of a session'({ runtime }, key, text) {
    const session = runtime.session(key)
    await session.open()
    await session.state.set({ [text]: text })
    expect((await session.state.get())?.value).toEqual({ [text]: text })
    return text
  },
  async 'the label of an entry'({ runtime }, key, text) {
    const session = runtime.session(key, { history: [{ role: 'user', id: 'first', content: 'go' }] })
    await session.open()
    await session.label('first', text.slice(0, 200))
    const copy = await runtime.importSession(session.export(), { key: `${key}-copy` })
    expect((await copy.labels())[0]?.text).toBe(text.slice(0, 200))
    return text
  },
  async 'a note'({ runtime }, key, text) {
    await runtime.session(key).open()
    const memories = createMemories({ store: runtime.store.state, maxNoteBytes: 65_536 })
    await memories.save({ user: key }, { text }, { origin: { toolCallId: text } })
    const [note] = (await memories.list({ user: key })).items
    expect(note?.origin).toEqual({ toolCallId: text })
    return note?.text
  },
  async 'the reason of a stop'({ runtime }, key, text) {
    const session = runtime.session(key)
    const run = await session.send('go', { notBefore: 4_000_000_000_000 })
    await run.stop({ reason: text })
    return text
  },
}

/** Arguments that are ids: the long text is refused, and nothing is stored. */
const ids: Readonly<Record<string, Argument>> = {
  async 'id of send'({ runtime }, key, text) {
    const session = runtime.session(key)
    const run = await session.send('go', { id: text })
    await run.result()
    expect(await session.send('go', { id: text })).toMatchObject({ runId: run.runId, accepted: 'duplicate' })
    return (await session.runs()).items[0]?.inputId
  },
  async 'id of steer'({ runtime }, key, text) {
    await runtime.session(key).steer('go', { id: text })
    return (await runtime.session(key).runs()).items[0]?.inputId
  },
  async 'id of overlay'({ runtime }, key, text) {
    await runtime.session(key).overlay('go', { id: text })
    return text
  },
  async 'id of schedule'({ runtime }, key, text) {
    await runtime.session(key).schedule({ id: text, every: 4_000_000, input: 'go' })
    return (await runtime.session(key).schedules.list())[0]?.id
  },
  async 'history[0].id'({ runtime }, key, text) {
    await runtime.session(key, { history: [{ role: 'user', id: text, content: 'go' }] }).open()
    const [id] = await copied(runtime, key, (message) => [message.id])
    return id
  },
}

const stores: readonly (readonly [name: string, () => Promise<SessionStore>])[] = [
  ...namesOfPlaces.map((name) => [name, async () => place(name)[0]] as const),
  ['postgres', () => postgres.empty(postgres.shared())],
]

describe.each(stores)('texts on the %s store', (_name, open) => {
  async function withBench(use: (bench: Bench) => Promise<void>): Promise<void> {
    const answers: Step[] = []
    const { runtime, faults } = setup({ store: await open(), steps: () => answers.shift() ?? { text: 'done' }, tools: [look, ask] })
    await use({ runtime, answers })
    await runtime.stop()
    expect(faults).toEqual([])
  }

  it.each(Object.entries(kept))('S7: %s: every text is kept', (_argument, put) =>
    withBench(async (bench) => {
      for (const [index, text] of every.entries()) expect(await put(bench, `key-${index}`, text)).toEqual(text)
    }),
  )

  it.each(Object.entries(ids))('S7: %s: every short text is kept, a long one is refused', (argument, put) =>
    withBench(async (bench) => {
      for (const [index, text] of short.entries()) expect(await put(bench, `key-${index}`, text)).toEqual(text)
      const refusal = await put(bench, 'key-long', long).catch((error: unknown) => error)
      const message = expect.stringMatching(`^${argument.split(' ')[0]?.replaceAll('[', '.')} must `)
      expect(refusal).toMatchObject({ code: 'invalid-input', message })
      expect(await bench.runtime.session('key-long').info()).toBeNull()
    }),
  )

  it('S7: the ids of calls that a model gives are kept if they are short and whole, else they become such ids', () =>
    withBench(async (bench) => {
      for (const [index, text] of every.entries()) {
        const answered = await callIdOf(bench, `key-${index}`, text)
        if (text.length <= 800 && text.isWellFormed()) expect(answered).toBe(text)
        else expect(answered).toMatch(/^[\w-]{43}$/)
      }
    }))
})

/** Answers a call with this id, and returns the id in the log, which is that in a copy of the session too. */
async function callIdOf({ runtime, answers }: Bench, key: string, text: string): Promise<unknown> {
  answers.push({
    toolCalls: [
      { id: text, name: 'elsewhere', input: {} },
      { id: `${text}+`, name: 'look', input: {} },
    ],
  })
  const session = runtime.session(key, { remoteTools: [{ name: 'elsewhere', description: 'Elsewhere.', inputSchema: schema }] })
  const { pendingToolCalls } = await (await session.send('go')).result()
  const [call] = pendingToolCalls
  const { run } = await session.submitToolResults([{ toolCallId: call?.toolCallId ?? '', output: 'seen' }])
  expect(await run.result()).toMatchObject({ status: 'completed' })
  const [first, , second, , sameFirst, , sameSecond] = await copied(runtime, key, idsAndNames)
  expect([first, second]).toEqual([sameFirst, sameSecond])
  expect(first).toBe(call?.toolCallId)
  return first
}
