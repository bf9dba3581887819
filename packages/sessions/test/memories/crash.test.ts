import { defineAgent, type Agent } from '@bowline/agent-loop'
import { fakeIds } from '@bowline/testing'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createMemories, createRuntime, memory, type Note, type Runtime, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { dyingWorld, ProcessDied, type DeathPoint, type DyingWorld } from '../orchestration/dying-world.ts'
import { alice } from './support.ts'

const leaseMs = 10_000
const key = 'room:1'

const save = (id: string, input: object) => ({ id, name: 'memory_save', input: input as never })
const forget = (id: string, noteKey: string) => ({ id, name: 'memory_forget', input: { key: noteKey } })

/** The notes of one answer are changed concurrently. */
const answers = [
  [save('c1', { text: 'Likes tea.' }), save('c2', { key: 'city', text: 'Lives in Oslo.' })],
  [save('c3', { key: 'city', text: 'Lives in Rome.' }), save('c4', { key: 'pet', text: 'Has a cat.' })],
  [forget('c5', 'pet'), forget('c6', 'none')],
  [save('c7', { key: 'pet', text: 'Has a dog.' })],
]

interface Outcome {
  readonly writes: readonly string[]
  readonly notes: readonly Pick<Note, 'key' | 'text' | 'origin'>[]
  readonly versions: Readonly<Record<string, number>>
  readonly outputs: readonly unknown[]
  readonly processes: number
}

function agentOf(store: SessionStore): Agent {
  const model = scriptedModel(({ prompt }) => {
    const calls = answers[prompt.filter((message) => message.role === 'tool').length]
    return calls ? { toolCalls: calls } : { text: 'All is noted.' }
  })
  return defineAgent({ name: 'assistant', model, extensions: [memory({ store, scope: alice })] })
}

/** Runs the turn to its end. The first processes die at these points, one each. */
async function runCrash(...points: readonly DeathPoint[]): Promise<Outcome> {
  const clock = manualClock()
  const ids = fakeIds()
  const inner = memoryStore()
  await inner.open({ namespace: 'default', clock, owner: 'keeper' })
  const start = async ({ store, died }: DyingWorld): Promise<Runtime> => {
    const runtime = createRuntime({ agents: [agentOf(store)], store, clock, ids, lease: { ttlMs: leaseMs }, onError: () => undefined })
    // A runtime that dies while it takes over a run waits for the clock.
    await Promise.race([runtime.start(), died])
    return runtime
  }
  const live = async (world: DyingWorld): Promise<boolean> => {
    const { died } = world
    const runtime = await start(world).catch((error: unknown) => {
      if (!(error instanceof ProcessDied)) throw error
    })
    const drive = async (): Promise<unknown> => (await runtime?.session(key).send('go', { id: 'first' }))?.result()
    const end = runtime ? await Promise.race([drive().catch(async () => died), died]) : 'died'
    await runtime?.stop({ graceMs: 0 }).catch((error: unknown) => {
      if (end !== 'died') throw error
    })
    await clock.advance(leaseMs + 1)
    return end === 'died'
  }
  let processes = 1
  for (const point of points) if (await live(dyingWorld(inner, point))) processes++
  const last = dyingWorld(inner)
  await live(last)
  const memories = createMemories({ store: inner })
  const notes = (await memories.list(alice)).items
  const records = (await inner.state.list('memory', {})).items
  const log = (await inner.readEvents(key, 0, 1_000)).events
  const outcome = {
    writes: [...last.writes],
    processes,
    notes: notes.map(({ key: noteKey, text, origin }) => ({ key: noteKey, text, origin })),
    versions: Object.fromEntries(records.map(({ version, value }) => [String((value as { key?: string }).key), version])),
    outputs: log.flatMap((event) => (event.type === 'tool-execution-end' ? [[event.toolCallId, event.message.output]] : [])),
  }
  await inner.close()
  return outcome
}

const undisturbed = await runCrash()
const points = undisturbed.writes.map((name, index) => ({ name, write: index + 1 }))

describe('a turn that changes notes', () => {
  it('A194: undisturbed it changes each note once per call', () => {
    expect(undisturbed.notes.map(({ text }) => text).toSorted()).toEqual(['Has a dog.', 'Likes tea.', 'Lives in Rome.'])
    expect(undisturbed.notes.map(({ origin }) => origin.toolCallId).toSorted()).toEqual(['c1', 'c3', 'c7'])
    expect(undisturbed.versions).toMatchObject({ city: 2, pet: 3 })
    expect(undisturbed.writes.filter((name) => name === 'compareAndSet')).toHaveLength(6)
  })

  it.each(points)('A194: a crash after write $write ($name) changes nothing twice and loses nothing', async (point) => {
    const { notes, versions, outputs, processes } = await runCrash(point)
    expect(processes).toBe(2)
    expect({ notes, versions }).toEqual({ notes: undisturbed.notes, versions: undisturbed.versions })
    expect(outputs.map((output) => JSON.stringify(output)).toSorted()).toEqual(
      undisturbed.outputs.map((output) => JSON.stringify(output)).toSorted(),
    )
  })

  it('A194: a second crash of the resuming process changes nothing twice either', async () => {
    const written = points.filter(({ name }) => name === 'compareAndSet')
    for (const point of written) {
      for (const next of [1, 2, 3]) {
        const { notes, versions } = await runCrash(point, { write: next })
        expect([point.write, next, notes, versions]).toEqual([point.write, next, undisturbed.notes, undisturbed.versions])
      }
    }
  })
})
