import { defineAgent } from '@bowline/agent-loop'
import { versionCheck, versionMark } from '@bowline/llm/arguments'
import { scriptedModel } from '@bowline/llm/testing'
import { createMemories, createOrchestration, createRuntime, memoryStateStore, SessionError } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { sessionsVersionCheck } from '@bowline/sessions/internal'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStateStore, sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it } from 'vitest'
import agentLoop from '../../../agent-loop/package.json' with { type: 'json' }
import sessions from '../../package.json' with { type: 'json' }

const agent = defineAgent({ name: 'assistant', model: scriptedModel([]) })

/** Returns the object as another version of the package would make it. */
function madeWith<Value extends object>({ name }: { readonly name: string }, version: string, value: Value): Value {
  return { ...value, ...versionMark({ name, version }) }
}

const refusal = (path: string, { name, version }: { readonly name: string; readonly version: string }) =>
  new SessionError(
    'invalid-config',
    `${path} was made with ${name} 99.1.2, but ${name} ${version} is used here; install one version (npm ls ${name} shows where they come from).`,
  )

/** Expects that another version of the package would refuse the object. */
function expectMark(value: object, { name, version }: { readonly name: string; readonly version: string }): void {
  const check = versionCheck({ name, version: '99.1.2' }, (message) => new RangeError(message))
  expect(() => check('it', value)).toThrow(`it was made with ${name} ${version}, but ${name} 99.1.2 is used here`)
}

describe('objects of another version of a package', () => {
  it.each([
    ['memory', memoryStore()],
    ['file', fileStore({ dir: '.bowline/other-version' })],
    ['sqlite', sqliteStore({ file: '.bowline/other-version.db' })],
  ])('S208: a %s store of another version is refused with both versions', (_name, store) => {
    createRuntime({ agents: [agent], store })
    expectMark(store, sessions)
    expect(() => createRuntime({ agents: [agent], store: madeWith(sessions, '99.1.2', store) })).toThrow(refusal('store', sessions))
  })

  it('S208: a store without a mark, and one of another patch, are accepted', () => {
    const unmarked = Object.fromEntries(Object.entries(memoryStore())) as unknown as ReturnType<typeof memoryStore>
    createRuntime({ agents: [agent], store: unmarked })
    createRuntime({ agents: [agent], store: madeWith(sessions, sessions.version.replace(/\d+$/, '99'), memoryStore()) })
  })

  it.each([
    ['memory', memoryStateStore()],
    ['sqlite', sqliteStateStore({ file: '.bowline/other-version.db' })],
  ])('S208: a %s state store of another version is refused with both versions', (_name, store) => {
    createOrchestration({ store })
    expectMark(store, sessions)
    const other = madeWith(sessions, '99.1.2', store)
    expect(() => createOrchestration({ store: other })).toThrow(refusal('store', sessions))
    expect(() => createMemories({ store: other })).toThrow(refusal('store', sessions))
  })

  it('S208: a runtime of another version is refused with both versions', () => {
    const runtime = createRuntime({ agents: [agent] })
    const check = sessionsVersionCheck((message) => new RangeError(message))
    check('runtime', runtime)
    expectMark(runtime, sessions)
    expect(() => check('runtime', madeWith(sessions, '99.1.2', runtime))).toThrow(/^runtime was made with @bowline\/sessions 99\.1\.2, /)
  })

  it('S208: an agent of another version of agent-loop is refused with both versions', () => {
    expectMark(agent, agentLoop)
    const other = madeWith(agentLoop, '99.1.2', agent)
    expect(() => createRuntime({ agents: [agent, other] })).toThrow(refusal('agents[1]', agentLoop))
    createRuntime({ agents: [{ ...agent }] })
  })
})
