import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { streamMessage, type AssistantMessage } from '../../src/index.ts'
import { messageOf, readAll } from '../support.ts'
import { useWireServer, wires, type Wire } from './wires.ts'

const server = useWireServer()

async function ask(wire: Wire, content: string): Promise<AssistantMessage> {
  return messageOf(await readAll(streamMessage({ model: wire.model(server), messages: [{ role: 'user', content }] })))
}

/** Expectations for every refused call: an error as data, no content, no cost, one request. */
function expectRefused(message: AssistantMessage, error: object): void {
  expect(message).toMatchObject({
    stopReason: 'error',
    content: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    error: { phase: 'before-output', ...error },
  })
  expect(message.usage).not.toHaveProperty('estimated')
  expect(server.bodies).toHaveLength(1)
}

describe.each(wires)('refusals over $name', (wire) => {
  it('F12: 401 with a wrong key is auth-permanent, and the key is not shown', async () => {
    server.mock.nextRequestError(401, {
      message: 'Incorrect API key provided: sk-abcdefghijkl',
      type: 'authentication_error',
      code: 'invalid_api_key',
    })
    const message = await ask(wire, 'hi')
    expectRefused(message, { kind: 'auth-permanent', retryable: false, status: 401 })
    expect(JSON.stringify(message)).not.toContain('abcdefghijkl')
  })

  it('F11: 429 with Retry-After is a rate limit with its delay', async () => {
    const response = {
      error: { message: 'Rate limit reached', type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      status: 429,
      retryAfter: 1,
    }
    server.mock.onMessage('hi', response)
    expectRefused(await ask(wire, 'hi'), {
      kind: 'rate-limit',
      retryable: true,
      recovery: 'wait',
      retryAfterMs: 1_000,
      status: 429,
    })
  })

  it('F11: 529 is overloaded', async () => {
    server.mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' })
    expectRefused(await ask(wire, 'hi'), { kind: 'overloaded', retryable: true, status: 529 })
  })

  it('F12: 500 is a retryable server error', async () => {
    server.mock.nextRequestError(500, { message: 'The server had an error', type: 'server_error' })
    expectRefused(await ask(wire, 'hi'), { kind: 'server-error', retryable: true, status: 500 })
  })

  it('F12: 403 is a permission error, 404 names the model', async () => {
    server.mock.nextRequestError(403, { message: 'Not allowed', type: 'permission_error' })
    expectRefused(await ask(wire, 'hi'), { kind: 'permission', retryable: false })
    server.mock.nextRequestError(404, { message: 'The model `x` does not exist', type: 'not_found_error' })
    expect((await ask(wire, 'hi')).error).toMatchObject({ kind: 'model-not-found', retryable: false })
  })

  it('F12: a prompt above the window asks for a compaction', async () => {
    server.mock.nextRequestError(400, {
      message: "This model's maximum context length is 1000 tokens.",
      type: 'invalid_request_error',
    })
    expectRefused(await ask(wire, 'hi'), { kind: 'context-overflow', retryable: false, recovery: 'compact' })
  })

  it('F7: a stream that is cut keeps its text and is no success', async () => {
    const content = 'Hello there, friend of the long sentences'
    server.mock.onMessage('cut', { content }, { chunkSize: 4, latency: 5, truncateAfterChunks: 6 })
    const message = await ask(wire, 'cut')
    expect(message.stopReason).toBe('error')
    expect(['stream-broken', 'network']).toContain(message.error?.kind)
    expect(message.error).toMatchObject({ retryable: true, phase: 'after-output' })
    const [part] = message.content
    const text = part?.type === 'text' ? part.text : ''
    expect(text.length).toBeGreaterThan(0)
    expect(content.startsWith(text)).toBe(true)
    expect(message.usage).toMatchObject({ estimated: true, outputTokens: Math.ceil(text.length / 4) })
  })
})

describe.each(wires)('faults on the connection to $name', (wire) => {
  afterEach(() => void server.mock.clearChaos())

  it.each([
    ['a socket that is torn down', { disconnectRate: 1 }, ['network', 'stream-broken']],
    ['a body that is no stream', { malformedRate: 1 }, ['stream-broken']],
    ['a request that is dropped', { dropRate: 1 }, ['server-error']],
    ['a rate limit', { rateLimitRate: 1 }, ['rate-limit']],
  ])('F23: %s is an error as data, and no success', async (_, chaos, kinds) => {
    server.mock.onMessage('hi', { content: 'Hello' })
    server.mock.setChaos(chaos)
    const message = await ask(wire, 'hi')
    expect(message).toMatchObject({ stopReason: 'error', content: [], error: { retryable: true } })
    expect(message.error?.phase).toBe('before-output')
    expect(kinds).toContain(message.error?.kind)
    expect(server.bodies).toHaveLength(1)
  })
})

/** Returns the address of a server that has just closed. */
async function closedUrl(): Promise<string> {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  gone.close()
  await once(gone, 'close')
  return `http://127.0.0.1:${port}`
}

describe.each(wires)('no server for $name', (wire) => {
  it.each([
    ['a closed port', closedUrl, 'ECONNREFUSED'],
    ['an unknown host', () => 'http://nowhere.invalid', /^(?:ENOTFOUND|EAI_AGAIN)$/],
  ])('F23: %s is a network error that costs nothing', async (_, urlOf, code) => {
    const model = wire.model({ url: await urlOf(), fetch })
    const message = await streamMessage({ model, messages: [{ role: 'user', content: 'hi' }] }).result()
    expect(message).toMatchObject({
      stopReason: 'error',
      content: [],
      error: { kind: 'network', retryable: true, recovery: 'wait', phase: 'before-output' },
      usage: { inputTokens: 0, outputTokens: 0 },
    })
    expect(message.error?.code).toMatch(code)
    expect(message.usage).not.toHaveProperty('estimated')
  })
})
