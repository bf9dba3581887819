import { defineTool } from '@bowline/agent-loop'
import type { SessionView } from '@bowline/client'
import { expect, it } from 'vitest'
import { bench, refusal, say } from '../support/bench.ts'
import { allFrames } from '../support/frames.ts'

const json = { 'content-type': 'application/json' }

it('V71: a body over the limit is 413 before it is parsed, and the session stays usable', async () => {
  const { execute } = await bench({ limits: { bodyBytes: 1000 }, steps: [{ text: 'Hi.' }] })
  const problem = await refusal(execute({ input: say('x'.repeat(1000)), context: {} }), 413, 'body-too-large')
  expect(problem.detail).toContain('1000')
  await refusal(execute('{'.repeat(1001)), 413, 'body-too-large')
  expect((await execute({ input: say('x'.repeat(900)), context: {} })).status).toBe(200)
})

it('V71: the same holds for a body without a length', async () => {
  const { url } = await bench({ limits: { bodyBytes: 1000 } })
  let sent = 0
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 500
      controller.enqueue(new Uint8Array(500).fill(0x20))
      if (sent > 5_000_000) controller.close()
    },
  })
  const request = { method: 'POST', headers: json, body: endless, duplex: 'half' } as RequestInit
  await refusal(fetch(`${url}/api/agent/execute`, request), 413, 'body-too-large')
})

it('V71: depth and number of keys are limited', async () => {
  const { execute } = await bench({ limits: { jsonDepth: 10, jsonKeys: 50 } })
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  const deep = await refusal(execute({ input: say('hi'), context: { metadata: { deep: nested(10) } } }), 400, 'invalid-body')
  expect(deep.detail).toContain('deeper than 10')
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n]))
  const many = await refusal(execute({ input: say('hi'), context: { metadata: wide } }), 400, 'invalid-body')
  expect(many.detail).toContain('more than 50')
  await refusal(execute('['.repeat(500_000)), 400, 'invalid-body')
})

it('V71: a __proto__ key is refused at any depth', async () => {
  const { execute } = await bench()
  const body = '{"input":{"role":"user","content":"hi"},"context":{"metadata":{"a":[{"__proto__":{"admin":true}}]}}}'
  const problem = await refusal(execute(body), 400, 'invalid-body')
  expect(problem.errors).toEqual([{ path: '__proto__', message: expect.any(String) }])
})

it('V95: half of a surrogate pair is refused at its place before anything is stored; other characters of a call id come back', async () => {
  const far = defineTool({ name: 'far', description: 'Far.', inputSchema: { type: 'object' } })
  const ids = ['a\ud83d', 'a\0b'].map((id) => ({ id, name: 'far', input: {} }))
  const { execute, post, get } = await bench({ tools: [far], steps: [{ toolCalls: ids }, { text: 'Hi.' }] })
  const paths = async (answer: Promise<Response>) => (await refusal(answer, 400, 'invalid-body')).errors?.map((error) => error.path)
  const sent = (context: object, input = say('hi')) => execute({ sessionId: 'odd', input, context })
  expect(await paths(sent({}, say('\ud83d')))).toEqual(['input.content'])
  expect(await paths(sent({ metadata: { list: [1, { text: 'a\udc00' }] } }))).toEqual(['context.metadata.list[1].text'])
  expect(await paths(sent({ metadata: { ['\ud83d']: 1 } }))).toEqual(['context.metadata'])
  expect(await paths(post('/api/agent/session/odd/labels', { entryId: 'a', text: '\ud83d' }))).toEqual(['text'])
  await refusal(get('/api/agent/session/odd'), 404, 'session-missing')
  const metadata = { 'a\0b': 'x'.repeat(65_536) }
  await allFrames(await sent({ metadata }))
  const waiting = (await (await get('/api/agent/session/odd')).json()) as SessionView
  const given = waiting.pendingToolCalls.map(({ toolCallId }) => toolCallId)
  expect(given).toEqual([expect.stringMatching(/^[\w-]{43}$/), 'a\0b'])
  await allFrames(await execute({ sessionId: 'odd', input: given.map((toolCallId) => ({ toolCallId, output: 'seen' })) }))
  expect(await (await get('/api/agent/session/odd')).json()).toMatchObject({ status: 'completed', metadata })
})

it('V95: a malformed body is refused with each wrong place', async () => {
  const { execute, post } = await bench()
  const paths = async (answer: Promise<Response>) => (await refusal(answer, 400, 'invalid-body')).errors?.map((error) => error.path)
  expect(await paths(execute({}))).toEqual(['input'])
  expect(await paths(execute({ input: { role: 'system', content: 'hi' }, context: {} }))).toEqual(['input.role'])
  expect(await paths(execute({ input: { role: 'user', content: [{ type: 'text' }] } }))).toEqual(['input.content[0].text'])
  expect(await paths(execute({ input: { role: 'user', content: [] } }))).toEqual(['input.content'])
  expect(await paths(execute({ input: say('') }))).toEqual(['input.content'])
  expect(await paths(execute({ input: { role: 'user', content: [{ type: 'text', text: '' }] } }))).toEqual(['input.content'])
  expect(await paths(execute({ input: [{ output: 1 }] }))).toEqual(['input[0].toolCallId'])
  expect(await paths(execute({ input: say('hi'), options: { onBusy: 'perhaps' } }))).toEqual(['options.onBusy'])
  expect(await paths(post('/api/agent/session/x/stop', { waitMs: -1, scope: 'some' }))).toEqual(['scope', 'waitMs'])
  for (const text of ['', '{', 'nonsense', '[1,]']) expect(await paths(execute(text))).toEqual([''])
})

it('V95: the detail of a refusal names the first wrong place and the expected value, in a bounded length', async () => {
  const { execute, post, get } = await bench()
  const detail = async (answer: Promise<Response>, code = 'invalid-body') => (await refusal(answer, 400, code)).detail
  expect(await detail(execute({ input: [{ output: 1 }] }))).toBe('input[0].toolCallId: Invalid input: expected string, received undefined')
  expect(await detail(post('/api/agent/session/x/stop', { waitMs: -1, scope: 'some' }))).toBe(
    'scope: Invalid option: expected one of "active"|"all" (and 1 more)',
  )
  expect(await detail(execute('[]'))).toBe('body: Invalid input: expected object, received array')
  expect(await detail(execute({ input: [{ toolCallId: 'c', output: 1 }] }))).toBe(
    'sessionId: Tool results need the session that waits for them: set sessionId.',
  )
  expect(await detail(get('/api/agent/session/x?limit=0'), 'invalid-query')).toMatch(/^limit: /)
  expect(await detail(execute({ input: say('hi'), context: {} }, { 'idempotency-key': 'k'.repeat(256) }), 'invalid-query')).toMatch(
    /^Idempotency-Key: Too big/,
  )
  expect(await detail(execute({ input: say('hi'), context: {} }, { 'x-bowline-depth': 'x' }), 'invalid-query')).toMatch(
    /^X-Bowline-Depth: /,
  )
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, index) => ['k'.repeat(1000) + index, 1]))
  const long = await detail(execute({ input: say('hi'), context: {}, ...many }))
  expect(long).toMatch(/^k+….*This key is not known here.*\(and 899 more\)$/)
  expect(long.length).toBeLessThan(500)
})

it('V15: unknown keys are refused, such as execute in anything', async () => {
  const { execute, post } = await bench()
  const paths = async (answer: Promise<Response>) => (await refusal(answer, 400, 'invalid-body')).errors?.map((error) => error.path)
  expect(await paths(execute({ input: say('hi'), context: {}, execute: 'x' }))).toEqual(['execute'])
  expect(await paths(execute({ input: { ...say('hi'), id: 'x' }, context: {} }))).toEqual(['input.id'])
  expect(await paths(post('/api/agent/session/x/tool-calls/y/resolve', { result: 1, extra: 2 }))).toEqual(['extra'])
})

it('V95: text that is not UTF-8 is not JSON', async () => {
  const { url } = await bench()
  const body = new Uint8Array([...Buffer.from('{"input":{"role":"user","content":"'), 0xff, 0xfe, ...Buffer.from('"}}')])
  await refusal(fetch(`${url}/api/agent/execute`, { method: 'POST', headers: json, body }), 400, 'invalid-body')
})

it('V71, V95: a body full of faults is answered with the first of them, and the number left out', async () => {
  const { execute } = await bench()
  const unknown = Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`${'k'.repeat(50)}${index}`, index]))
  const response = await execute({ input: say('hi'), context: {}, ...unknown })
  const text = await response.clone().text()
  expect(text.length).toBeLessThan(16 * 1024)
  const { errors = [] } = await refusal(response, 400, 'invalid-body')
  expect(errors).toHaveLength(21)
  expect(errors.at(-1)).toEqual({ path: '', message: 'Faults left out: 8980.' })
  const long = await refusal(execute({ input: say('hi'), context: {}, ['k'.repeat(100_000)]: 1 }), 400, 'invalid-body')
  expect(JSON.stringify(long).length).toBeLessThan(4096)
})
