import { inspect } from 'node:util'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import * as sessions from '@bowline/sessions'
import * as file from '@bowline/sessions/file'
import * as memory from '@bowline/sessions/memory'
import * as sqlite from '@bowline/sessions/sqlite'
import * as testing from '@bowline/sessions/testing'
import type { RunHandle, Runtime, Session, SessionStore } from '@bowline/sessions'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { goodArgs, placesOf, replaced, values, type Place, type Row } from './arguments-table.ts'
import { rowsOf, type World } from './arguments-rows.ts'
import { recordingStore } from './recording-store.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const guarded = defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' })

/** A session that has answered once and waits for an answer now. */
async function makeWorld(): Promise<World> {
  const store = recordingStore(memory.memoryStore())
  const model = scriptedModel(() => Promise.resolve({ toolCalls: [{ id: 'c1', name: 'place', input: {} }, { id: 'c2', name: 'pay', input: {} }] }))
  const agent = defineAgent({ name: 'assistant', model, tools: [place, guarded], abortGraceMs: 0 })
  const runtime = sessions.createRuntime({ agents: [agent], store, onError: () => undefined })
  await runtime.start()
  const session = runtime.session('room:1')
  const run = await session.send('go')
  const { pendingApprovals } = await run.result()
  const orchestration = sessions.createOrchestration({ store: store.state })
  const state = await orchestration.getOrCreateState('room:1')
  const sequencer = sessions.createStepSequencer({ steps: [{ name: 'a', isDefault: true }] })
  const made: Runtime[] = [runtime]
  return {
    ...{ store, agent, runtime, session, run, orchestration, sequencer, state, approvalId: pendingApprovals[0]?.approvalId ?? '' },
    newRuntime() {
      const other = sessions.createRuntime({ agents: [agent], onError: () => undefined })
      made.push(other)
      return other
    },
    async end() {
      for (const each of made) await each.stop({ graceMs: 0 })
    },
  }
}

/** All that is stored. */
async function contents(store: SessionStore): Promise<string> {
  const { items } = await store.listSessions({})
  const states = await Promise.all(['session-state', 'orchestration-state', 'space'].map(async (space) => (await store.state.list(space, {})).items))
  const runs = await Promise.all(items.map(async ({ key }) => [await store.listRuns(key), await store.readInbox(key, ['answer', 'decision', 'steer', 'overlay']), await store.readPath(key)]))
  return JSON.stringify([items, runs, states])
}

async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}

/** Undefined: it was refused as it must be. */
function complaint({ name }: Place, value: unknown, outcome: unknown): string | undefined {
  const shown = inspect(value, { depth: 1 })
  if (outcome === undefined) return `${name} took ${shown}`
  if (!sessions.SessionError.isInstance(outcome)) return `${name} with ${shown} threw ${inspect(outcome)}`
  if (!outcome.code.startsWith('invalid-')) return `${name} with ${shown} has the code ${outcome.code}`
  const last = name.split('.').at(-1) ?? name
  return outcome.message.includes(last) ? undefined : `${name} with ${shown} is not named: ${outcome.message}`
}

function raise(): never {
  throw new Error('There is no such row.')
}

/** How errors name the function. */
function rootOf(name: string, { place: given }: Row): string {
  return given ?? name.split('.').at(-1) ?? name
}

function methodsOf(target: object): string[] {
  return Object.keys(target).filter((name) => typeof Reflect.get(target, name) === 'function')
}

const world = await makeWorld()
const rows = rowsOf(world)

describe('arguments', () => {
  it('S206: every exported function and every method has a row', () => {
    const exported = [sessions, file, memory, sqlite, testing].flatMap((module) => methodsOf(module))
    const methods = (type: string, names: readonly string[]) => names.map((name) => `${type}.${name}`)
    const prototype = Object.getPrototypeOf(world.orchestration) as object
    const wanted = [
      ...exported,
      ...methods('Runtime', methodsOf(world.runtime)),
      ...methods('Session', methodsOf(world.session satisfies Session)),
      ...methods('SessionState', methodsOf(world.session.state)),
      ...methods('RunHandle', methodsOf(world.run satisfies RunHandle)),
      ...methods('Orchestration', Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor')),
      ...methods('StepSequencer', methodsOf(world.sequencer)),
    ]
    expect(Object.keys(rows).sort()).toEqual(wanted.sort())
  })

  it.each(Object.keys(rows))('S206: %s takes good values, and undefined for each option', async (name) => {
    const fresh = await makeWorld()
    const row = rowsOf(fresh)[name]
    if (!row) raise()
    const isInvalid = (error: unknown): boolean => error !== undefined && !(sessions.SessionError.isInstance(error) && !error.code.startsWith('invalid-'))
    const args = goodArgs(row)
    const outcome = await outcomeOf(() => row.call(...(args as never[])))
    expect(isInvalid(outcome) ? outcome : undefined).toBeUndefined()
    for (const { path, name: option, kind } of placesOf(name, row)) {
      if (path.length < 2 || kind.needed) continue
      const other = await outcomeOf(() => row.call(...(replaced(args, path, undefined) as never[])))
      expect(isInvalid(other) ? { option, other } : undefined).toBeUndefined()
    }
    await fresh.end()
  })

  it.each(Object.keys(rows))('S206, S208: %s refuses values of other kinds by their place, and nothing is written', async (name) => {
    const row = rows[name]
    if (!row) raise()
    const args = goodArgs(row)
    const before = [await contents(world.store), world.store.commits.length]
    const complaints: string[] = []
    for (const each of placesOf(rootOf(name, row), row)) {
      for (const value of values.filter((one) => !each.kind.accepts(one))) {
        const found = complaint(each, value, await outcomeOf(() => row.call(...(replaced(args, each.path, value) as never[]))))
        if (found !== undefined) complaints.push(found)
      }
    }
    expect(complaints).toEqual([])
    expect(world.store.commits.length).toBeGreaterThan(0)
    expect([await contents(world.store), world.store.commits.length]).toEqual(before)
  })

  it('S208: whatever is in the place of an argument, it is taken or refused by its place', async () => {
    const places = new Map(Object.entries(rows).flatMap(([name, row]) => placesOf(rootOf(name, row), row).map((each) => [`${name}: ${each.name}`, { row, each }] as const)))
    const before = [await contents(world.store), world.store.commits.length]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...places.keys()), fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }), async (name, value) => {
        const { row, each } = places.get(name) ?? raise()
        fc.pre(value !== undefined && !each.kind.accepts(value))
        expect(complaint(each, value, await outcomeOf(() => row.call(...(replaced(goodArgs(row), each.path, value) as never[]))))).toBeUndefined()
      }),
      { numRuns: 1_000, seed: 1 },
    )
    expect([await contents(world.store), world.store.commits.length]).toEqual(before)
  })
})
