import { defineAgent, type AgentModel } from '@bowline/agent-loop'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createRuntime, type NewEntry } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it, onTestFinished, vi } from 'vitest'
import { aroundStore } from '../../../testing/src/around-store.ts'

const key = 'room:1'
const models: Readonly<Record<string, () => AgentModel>> = {
  'a model function': () => () => Promise.resolve([{ role: 'assistant', content: 'Hi.' }]),
  'a model': () => scriptedModel(() => ({ text: 'Hi.' })),
}

function entryOf(n: number): NewEntry {
  const node = { id: `m${n}`, parentId: n === 1 ? null : `m${n - 1}`, at: n, runId: 'run-0', type: 'message' } as const
  return { ...node, message: { role: 'user', id: node.id, content: `Message ${n}.` } }
}

/** Counts what turns read of the messages that a session of this length had before. */
async function longSession(entries: number, model: AgentModel) {
  const watched = new WeakSet<object>()
  let [looks, reads] = [0, 0]
  const inner = memoryStore()
  const store = aroundStore(inner, async (operation, _args, go) => {
    const answer = await go()
    if (operation !== 'readPath') return answer
    const page = answer as Awaited<ReturnType<typeof inner.readPath>>
    reads += page.items.length
    return { ...page, items: page.items.map((entry) => (entry.type === 'message' ? { ...entry, message: watch(entry.message) } : entry)) }
  })
  function watch<Message extends object>(message: Message): Message {
    const copy = {} as Message
    for (const [name, value] of Object.entries(message)) {
      Object.defineProperty(copy, name, { enumerable: true, get: () => (looks++, value as unknown) })
    }
    watched.add(Object.freeze(copy))
    return copy
  }
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model })], store, clock: manualClock(1) })
  await runtime.start()
  onTestFinished(() => runtime.stop())
  const session = { id: 'session-1', agent: 'assistant', metadata: {}, at: 1 }
  const entriesOf = Array.from({ length: entries }, (_, index) => entryOf(index + 1))
  await inner.commit({
    id: 'fill',
    key,
    expect: [],
    writes: [
      { op: 'session.ensure', session },
      { op: 'entry.append', entries: entriesOf },
    ],
  })
  const frozen = vi.spyOn(Object, 'isFrozen')
  const frozenLooks = (): number =>
    frozen.mock.calls.filter(([value]: readonly unknown[]) => typeof value === 'object' && value !== null && watched.has(value)).length
  onTestFinished(() => frozen.mockRestore())
  return async (): Promise<{ readonly looks: number; readonly reads: number }> => {
    ;[looks, reads] = [0, 0]
    frozen.mockClear()
    expect(await (await runtime.session(key).send('More.')).result()).toMatchObject({ status: 'completed' })
    return { looks: looks + frozenLooks(), reads }
  }
}

it.each(Object.keys(models))('A170: with %s, a late turn looks at as many earlier messages as an early one', async (name) => {
  const works = []
  for (const entries of [50, 500]) {
    const turn = await longSession(entries, models[name]!())
    expect((await turn()).reads).toBeGreaterThanOrEqual(entries)
    await turn()
    works.push(await turn())
  }
  const [early, late] = works
  expect(late).toEqual(early)
  // The last page of the path, in which the result finds the messages of its run.
  expect(late?.reads).toBe(4)
})
