import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime, SessionError, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { collect, setup, types } from '../support.ts'

const agent = (name: string) => defineAgent({ name, model: scriptedModel([]) })

function untouchable(): SessionStore {
  return new Proxy(memoryStore(), {
    get(target, name) {
      // A symbol is the mark of its version.
      if (name === 'name' || name === 'capabilities' || typeof name === 'symbol') return Reflect.get(target, name) as unknown
      throw new Error(`the store was touched: ${String(name)}`)
    },
  })
}

describe('createRuntime', () => {
  it('S1: does no I/O and refuses a name given twice, a malformed name and no agent at all', () => {
    expect(createRuntime({ agents: [agent('one')], store: untouchable() }).namespace).toBe('default')
    expect(() => createRuntime({ agents: [agent('one'), agent('one')] })).toThrow(/one/)
    expect(() => createRuntime({ agents: [agent('One two')] })).toThrow(/One two/)
    expect(() => createRuntime({ agents: [] })).toThrow(SessionError)
    expect(() => createRuntime({ agents: [agent('one')], namespace: 'A b' })).toThrow(/namespace/)
  })

  it('S2: a session handle does no I/O; an invalid key is refused with the offending part', () => {
    const runtime = createRuntime({ agents: [agent('one')], store: untouchable() })
    expect(runtime.session('room:1:user:ä'.replace('ä', 'a')).key).toBe('room:1:user:a')
    const refused = (key: string): unknown => {
      try {
        return runtime.session(key)
      } catch (error) {
        return error
      }
    }
    expect(refused('room::1')).toMatchObject({ code: 'invalid-key', message: expect.stringContaining('""') })
    expect(refused('room:..:1')).toMatchObject({ code: 'invalid-key', message: expect.stringContaining('".."') })
    expect(refused('room~1')).toMatchObject({ code: 'invalid-key', message: expect.stringContaining('"~"') })
    expect(refused('a'.repeat(257))).toMatchObject({ code: 'invalid-key', message: expect.stringContaining('257') })
    expect(refused('')).toMatchObject({ code: 'invalid-key' })
    expect(() => runtime.session('room:1', { agent: 'nobody' })).toThrow(/nobody/)
  })

  it('S3: two first sends at the same time make one session', async () => {
    const { runtime } = setup({ steps: [{ text: 'one' }, { text: 'two' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    const runs = await Promise.all([session.send('a'), session.send('b')])
    await Promise.all(runs.map((run) => run.result()))
    const log = await collect(session.events({ live: false }))
    expect(types(log).filter((type) => type === 'session-start')).toHaveLength(1)
    expect((await runtime.sessions()).items.map((item) => item.key)).toEqual(['room:1'])
    await runtime.stop()
  })

  it('S4: another agent for an existing session is refused and nothing is written', async () => {
    const runtime = createRuntime({ agents: [defineAgent({ name: 'one', model: scriptedModel([{ text: 'hi' }]) }), agent('two')] })
    await runtime.start()
    await (await runtime.session('room:1', { agent: 'one' }).send('a')).result()
    const before = await runtime.session('room:1').info()
    await expect(runtime.session('room:1', { agent: 'two' }).send('b')).rejects.toMatchObject({ code: 'agent-mismatch' })
    expect(await runtime.session('room:1').info()).toEqual(before)
    await runtime.stop()
  })

  it('S5: a session of another owner counts as missing', async () => {
    const { runtime } = setup({ steps: [{ text: 'hi' }] })
    await runtime.start()
    await (await runtime.session('room:1', { owner: 'ann' }).send('a')).result()
    const foreign = runtime.session('room:1', { owner: 'bob' })
    expect(await foreign.info()).toBeNull()
    await expect(foreign.messages()).rejects.toMatchObject({ code: 'session-missing' })
    await expect(foreign.send('b')).rejects.toMatchObject({ code: 'session-missing' })
    await expect(collect(foreign.events({ live: false }))).rejects.toMatchObject({ code: 'session-missing' })
    await runtime.stop()
  })
})
