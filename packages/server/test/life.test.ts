import { expect, it } from 'vitest'
import { memoryStore } from '@bowline/sessions/memory'
import type { SessionStore } from '@bowline/sessions'
import { bench, refusal, say } from './support/bench.ts'
import { allFrames, completion, framesOf, type Frame } from './support/frames.ts'

const unavailable = Object.assign(new Error('no'), { [Symbol.for('bowline.sessions.error')]: true, code: 'store-unavailable' })

/** Creates a memory store that can be switched to fail. */
function failingStore(): SessionStore & { failing: boolean } {
  const store = memoryStore()
  const guarded = { failing: false }
  const fails = ['commit', 'readSession', 'readRun', 'readEvents', 'readPath', 'listSessions'] as const
  return Object.assign(
    Object.create(store) as SessionStore,
    guarded,
    Object.fromEntries(
      fails.map((name) => [
        name,
        function (this: typeof guarded, ...parameters: never[]) {
          if (this.failing) return Promise.reject(unavailable)
          return (store[name] as (...each: never[]) => unknown)(...parameters)
        },
      ]),
    ),
  )
}

it('V84: a store that fails makes work routes and readyz 503, and the server recovers without a restart', async () => {
  const store = failingStore()
  const { execute, get, faults } = await bench({ store, steps: [{ text: 'One.' }, { text: 'Two.' }] })
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  store.failing = true
  const answer = await execute({ sessionId: 'mine', input: say('again') })
  expect(answer.headers.get('retry-after')).toBe('1')
  const problem = await refusal(answer, 503, 'store-unavailable')
  expect(problem).toMatchObject({ retryable: true, retryAfterMs: 1000 })
  expect((await get('/readyz')).status).toBe(503)
  expect((await get('/healthz')).status).toBe(200)
  await refusal(get('/api/agent/session/mine'), 503, 'store-unavailable')
  expect(faults).toContainEqual(expect.objectContaining({ message: 'request', code: 'store-unavailable' }))
  store.failing = false
  expect((await get('/readyz')).status).toBe(200)
  expect((await execute({ sessionId: 'mine', input: say('again') })).status).toBe(200)
})

it('V84: a reader stays while the store fails, and gets new events when the store is back', async () => {
  const store = failingStore()
  const { execute, get } = await bench({ store, steps: [{ text: 'One.' }, { text: 'Two.' }] })
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  const frames = framesOf(await get('/api/agent/session/mine/events?from=now'))
  // The reader is connected, because its answer has arrived. It waits for the next event.
  const next = frames.next()
  store.failing = true
  expect((await get('/readyz')).status).toBe(503)
  await refusal(execute({ sessionId: 'mine', input: say('again') }), 503, 'store-unavailable')
  store.failing = false
  const answered = completion(await allFrames(await execute({ sessionId: 'mine', input: say('again') })))
  expect(answered.status).toBe('completed')
  const seen = [(await next).value as Frame]
  for await (const frame of frames) {
    seen.push(frame)
    if (frame.data.type === 'settled') break
  }
  expect(JSON.stringify(seen)).toContain('Two.')
})

it('V93: healthz does no I/O, and neither it nor readyz reveals names', async () => {
  const store = failingStore()
  const { get } = await bench({ store })
  store.failing = true
  const health = await get('/healthz')
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
  expect(await (await get('/readyz')).json()).toEqual({ status: 'not-ready' })
})

it('V81: readyz is 503 until the runtime was started', async () => {
  const { server, runtime } = await unstarted()
  const ready = async () => (await server.fetch(new Request('http://localhost/readyz'), { remoteAddress: '127.0.0.1' })).status
  expect(await ready()).toBe(503)
  await runtime.start()
  expect(await ready()).toBe(200)
  await server.close({ drainMs: 0 })
})

it('V79: a reached limit gives a problem with a delay, and the connection stays open', async () => {
  const hold = Promise.withResolvers<void>()
  const { execute } = await bench({ limits: { queuedRunsPerSession: 0 }, steps: [{ parts: [{ wait: hold.promise }], text: 'Hi.' }] })
  const open = await execute({ sessionId: 'mine', input: say('hi'), context: {} })
  const answer = await execute({ sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } })
  expect(answer.headers.get('retry-after')).toBe('1')
  expect(await refusal(answer, 429, 'queue-full')).toMatchObject({ retryable: true, retryAfterMs: 1000 })
  hold.resolve()
  await allFrames(open)
})

async function unstarted() {
  const { defineAgent } = await import('@bowline/agent-loop')
  const { scriptedModel } = await import('@bowline/llm/testing')
  const { createRuntime } = await import('@bowline/sessions')
  const { createServer } = await import('@bowline/server')
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([]), tools: [] })], autoStart: false })
  return { runtime, server: createServer({ runtime, auth: 'none' }) }
}
