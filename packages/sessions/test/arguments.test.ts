import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import * as sessions from '@bowline/sessions'
import * as env from '@bowline/sessions/env'
import * as file from '@bowline/sessions/file'
import * as memory from '@bowline/sessions/memory'
import * as requests from '@bowline/sessions/requests'
import * as rowStores from '@bowline/sessions/rows'
import * as sqlite from '@bowline/sessions/sqlite'
import * as crashes from '@bowline/testing/crashes'
import * as testedPlacement from '@bowline/testing/placement'
import * as testedStores from '@bowline/testing/stores'
import type { RunHandle, Runtime, Session, SessionStore } from '@bowline/sessions'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { randomRuns } from '../../../scripts/test-length.ts'
import { refusedProblems, takenProblems, testedPlaces, unlistedNames } from '../../../scripts/argument-table.ts'
import { rowsOf, type World } from './arguments-rows.ts'
import { recordingStore } from './recording-store.ts'

const place = defineTool({ name: 'place', description: 'Where the user is.', inputSchema: z.object({}) })
const guarded = defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' })

/** Creates a session that has answered once and now waits for an answer. */
async function makeWorld(): Promise<World> {
  const store = recordingStore(memory.memoryStore())
  const model = scriptedModel(() =>
    Promise.resolve({
      toolCalls: [
        { id: 'c1', name: 'place', input: {} },
        { id: 'c2', name: 'pay', input: {} },
      ],
    }),
  )
  const agent = defineAgent({ name: 'assistant', model, tools: [place, guarded], abortGraceMs: 0 })
  const runtime = sessions.createRuntime({ agents: [agent], store, onError: () => undefined })
  await runtime.start()
  const session = runtime.session('room:1')
  const run = await session.send('go')
  const { pendingApprovals } = await run.result()
  const orchestration = sessions.createOrchestration({ store: store.state })
  const state = await orchestration.getOrCreateState('room:1')
  const folder = mkdtempSync(join(tmpdir(), 'bowline-arguments-'))
  const stores: readonly SessionStore[] = [
    memory.memoryStore(),
    file.fileStore({ dir: join(folder, 'files'), fsync: false }),
    sqlite.sqliteStore({ file: join(folder, 'data.db') }),
  ]
  for (const each of stores) await each.open({ namespace: 'n', clock: systemClock, owner: 'o' })
  const sequencer = sessions.createStepSequencer({ steps: [{ name: 'a', isDefault: true }] })
  const made: Runtime[] = [runtime]
  return {
    stores,
    store,
    agent,
    runtime,
    session,
    run,
    orchestration,
    sequencer,
    state,
    approvalId: pendingApprovals[0]?.approvalId ?? '',
    newRuntime(options) {
      const other = sessions.createRuntime({ agents: [agent], onError: () => undefined, ...options })
      made.push(other)
      return other
    },
    async end() {
      for (const each of made) await each.stop({ graceMs: 0 })
      for (const each of stores) await each.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Returns everything that is stored. */
async function contents(store: SessionStore): Promise<string> {
  const { items } = await store.listSessions({})
  const states = await Promise.all(
    ['session-state', 'orchestration-state', 'space'].map(async (space) => (await store.state.list(space, {})).items),
  )
  const runs = await Promise.all(
    items.map(async ({ key }) => [
      await store.listRuns(key),
      await store.readInbox(key, ['answer', 'decision', 'steer', 'overlay']),
      await store.readPath(key),
    ]),
  )
  return JSON.stringify([items, runs, states])
}

const isRefusal = (error: unknown): error is Error => sessions.SessionError.isInstance(error) && error.code.startsWith('invalid-')
/** A missing run or entry has an error of its own. */
const isTaken = (error: unknown): boolean => sessions.SessionError.isInstance(error) && !isRefusal(error)
const options = { isRefusal, isTaken }

function raise(): never {
  throw new Error('There is no such row.')
}

function methodsOf(target: object): string[] {
  return Object.keys(target).filter((name) => typeof Reflect.get(target, name) === 'function')
}

const world = await makeWorld()
afterAll(() => world.end())
const rows = rowsOf(world)

describe('arguments', () => {
  it('S206: every exported function and every method has a row', () => {
    const modules = [sessions, env, file, memory, requests, rowStores, sqlite, crashes, testedPlacement, testedStores]
    const exported = modules.flatMap((module) => methodsOf(module))
    const methods = (type: string, names: readonly string[]) => names.map((name) => `${type}.${name}`)
    const prototype = Object.getPrototypeOf(world.orchestration) as object
    const wanted = [
      ...exported,
      ...methods('Runtime', methodsOf(world.runtime)),
      ...methods('Session', methodsOf(world.session satisfies Session)),
      ...methods('SessionState', methodsOf(world.session.state)),
      ...methods('SessionSchedules', methodsOf(world.session.schedules)),
      ...methods('RunHandle', methodsOf(world.run satisfies RunHandle)),
      ...methods(
        'Orchestration',
        Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor'),
      ),
      ...methods('StepSequencer', methodsOf(world.sequencer)),
      ...methods('Memories', ['list', 'get', 'save', 'search', 'remove', 'forget', 'export'] satisfies (keyof sessions.Memories)[]),
      ...methods('RequestRecorder', ['list', 'get', 'remove'] satisfies (keyof requests.RequestRecorder)[]),
      ...world.stores.flatMap((store) => [
        ...methods(`${store.name}Store()`, methodsOf(store)),
        ...methods(`${store.name}Store().state`, methodsOf(store.state)),
      ]),
    ]
    expect(unlistedNames(wanted, Object.keys(rows))).toEqual([])
  })

  it.each(Object.keys(rows))('S206: %s takes good values, and undefined for each option', async (name) => {
    const fresh = await makeWorld()
    expect(await takenProblems(rowsOf(fresh)[name] ?? raise(), options)).toEqual([])
    await fresh.end()
  })

  it.each(Object.keys(rows))('S206, S208: %s refuses values of the wrong type, names their path, and writes nothing', async (name) => {
    const before = [await contents(world.store), world.store.commits.length]
    expect(await refusedProblems(rows[name] ?? raise(), options)).toEqual([])
    expect(world.store.commits.length).toBeGreaterThan(0)
    expect([await contents(world.store), world.store.commits.length]).toEqual(before)
  })

  it('S208: any value passed as an argument is either accepted or refused with the path of the argument', async () => {
    const places = new Map(
      Object.entries(rows).flatMap(([name, row]) => testedPlaces(row, options).map((each) => [`${name}: ${each.path}`, each] as const)),
    )
    const before = [await contents(world.store), world.store.commits.length]
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...places.keys()),
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        async (name, value) => {
          const { takes, refusalProblem } = places.get(name) ?? raise()
          fc.pre(value !== undefined && !takes(value))
          expect(await refusalProblem(value)).toBeUndefined()
        },
      ),
      randomRuns(1_000),
    )
    expect([await contents(world.store), world.store.commits.length]).toEqual(before)
  })
})
