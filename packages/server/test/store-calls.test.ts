import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { createRuntime, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import { ask } from './support/request.ts'

/** Returns a store that counts its calls by name. */
function countingStore(store: SessionStore, calls: Record<string, number>): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => {
        calls[String(name)] = (calls[String(name)] ?? 0) + 1
        return (member as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}

it('S182: a plain turn over HTTP makes seven calls to the store', async () => {
  const calls: Record<string, number> = {}
  const agent = defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'one' }, { text: 'two' }]) })
  const runtime = createRuntime({ agents: [agent], store: countingStore(memoryStore(), calls) })
  await runtime.start()
  const server = createServer({ runtime, auth: 'none' })
  const execute = async (body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    return (await ask(server, '/api/agent/execute', { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }
  await execute({ sessionId: 's1', context: {}, input: { role: 'user', content: 'hello' } })
  await runtime.sweep()
  for (const name of Object.keys(calls)) delete calls[name]
  expect(await execute({ sessionId: 's1', input: { role: 'user', content: 'and again' } })).toContain('"status":"completed"')
  expect(calls).toEqual({ readSession: 1, commit: 3, claim: 1, readInbox: 1, readEvents: 1 })
  await server.close()
  await runtime.stop()
})
