import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createBridge, remoteExecutor } from '../src/index.ts'
import type { Bridge, BridgeError, BridgeExecutor, RemoteServerOptions } from '../src/index.ts'
import { later } from './runtime-support.ts'
import { problem, stubServer } from './stub-server.ts'
import { failureOf, recordingLogger } from './support.ts'

function executorOver(baseUrl: string, more: Partial<RemoteServerOptions> = {}): BridgeExecutor {
  return remoteExecutor({ servers: [{ id: 'far', baseUrl, token: 'token-1', reconnect: { maxDownMs: 0 }, ...more }] })
}

async function startBridge(executor: BridgeExecutor): Promise<Bridge> {
  const bridge = createBridge({ executors: [executor], logger: recordingLogger() })
  await bridge.start()
  later(() => bridge.stop({ deadlineMs: 0 }))
  return bridge
}

async function failureWith(baseUrl: string, more: Partial<RemoteServerOptions> = {}): Promise<BridgeError> {
  const bridge = await startBridge(executorOver(baseUrl, more))
  return failureOf(await bridge.delegate({ prompt: 'Write.' }).result())
}

const nothing = (): void => {}
const host = (clock = systemClock) => ({
  clock,
  logger: recordingLogger(),
  sessionFailed: nothing,
  agentsChanged: nothing,
  notify: nothing,
})

describe('refusals of a server', () => {
  const refusals = [
    { status: 401, code: 'unauthenticated', as: 'AUTH', retryable: false, outcome: 'none' },
    { status: 403, code: 'scope-missing', as: 'AUTH', retryable: false, outcome: 'none' },
    { status: 404, code: 'session-missing', as: 'NOT_FOUND', retryable: false, outcome: 'none' },
    { status: 409, code: 'busy', as: 'BUSY', retryable: true, outcome: 'none' },
    { status: 410, code: 'session-expired', as: 'EXPIRED', retryable: false, outcome: 'none' },
    { status: 413, code: 'body-too-large', as: 'CAPACITY', retryable: true, outcome: 'none' },
    { status: 422, code: 'id-reused', as: 'PROTOCOL', retryable: false, outcome: 'none' },
    { status: 500, code: 'internal', as: 'UPSTREAM', retryable: false, outcome: 'unknown' },
  ]
  it.each(refusals)('B95: $status $code is $as', async ({ status, code, as, retryable, outcome }) => {
    const { url } = await stubServer(problem(status, code))
    const error = await failureWith(url)
    expect(error).toMatchObject({ code: as, retryable, details: { agentId: 'writer', reason: code, upstreamCode: status, outcome } })
    expect(error.message).not.toContain('secret')
  })

  it.each([429, 503])('B95: %i is CAPACITY with the delay of the server, also without its problem', async (status) => {
    const own = await stubServer(problem(status, status === 429 ? 'too-many-runs' : 'draining', { 'retry-after': '7' }))
    expect(await failureWith(own.url)).toMatchObject({ code: 'CAPACITY', retryable: true, details: { retryAfterMs: 7000 } })
    const proxy = await stubServer((_request, response) => void response.writeHead(status, { 'retry-after': '3' }).end('<html>'))
    expect(await failureWith(proxy.url)).toMatchObject({ code: 'CAPACITY', retryable: true, details: { retryAfterMs: 3000 } })
  })

  it('B95: 502 of a proxy is UPSTREAM and retryable', async () => {
    const { url } = await stubServer((_request, response) => void response.writeHead(502).end('<html>'))
    expect(await failureWith(url)).toMatchObject({ code: 'UPSTREAM', retryable: true, details: { upstreamCode: 502 } })
  })

  it('B95: a redirect is not followed, and the token is sent nowhere else', async () => {
    const elsewhere = await stubServer()
    const { url } = await stubServer(
      (_request, response) => void response.writeHead(307, { location: `${elsewhere.url}/api/agent/execute` }).end(),
    )
    expect(await failureWith(url)).toMatchObject({ code: 'CONFIG', retryable: false, details: { reason: 'redirect-refused' } })
    expect(elsewhere.seen).toEqual([])
  })

  it('B95: a connection that fails on all tries is TRANSPORT, retryable only where the server goes on', async () => {
    const { url, seen } = await stubServer((request) => void request.socket.destroy())
    const reconnect = { maxDownMs: 60, baseMs: 10, maxMs: 10 }
    // Long enough for a second attempt on a busy machine.
    expect(await failureWith(url, { reconnect: { ...reconnect, maxDownMs: 1000 } })).toMatchObject({
      code: 'TRANSPORT',
      retryable: true,
      details: { outcome: 'unknown' },
    })
    expect(seen.filter((line) => line.startsWith('POST')).length).toBeGreaterThan(1)
    expect(await failureWith(url, { reconnect, durable: false })).toMatchObject({ code: 'TRANSPORT', retryable: false })
  })
})

describe('the list of agents', () => {
  it('B93: a server out of reach keeps its agents, as unavailable, until it is back', async () => {
    const server = await stubServer()
    const executor = executorOver(server.url, { agentIdPrefix: 'far.' })
    await executor.start(host())
    expect(executor.agents()).toEqual([{ id: 'far.writer', capabilities: ['text'], status: 'ready', durable: true, resumable: true }])
    expect(executor.health()).toEqual({ healthy: true })
    await server.close()
    await executor.refresh?.()
    expect(executor.agents()).toMatchObject([
      { id: 'far.writer', status: 'unavailable', reason: 'the server far is not reachable: disconnected' },
    ])
    expect(executor.health()).toEqual({ healthy: false })
    await executor.stop({ deadlineMs: 0 })
  })

  it('B93: agents named in the options are listed although the server was never reached', async () => {
    const { url, close } = await stubServer()
    await close()
    const executor = executorOver(url, { agents: ['writer', 'reader'] })
    await executor.start(host())
    expect(executor.agents().map(({ id, status }) => `${id} ${status}`)).toEqual(['writer unavailable', 'reader unavailable'])
  })

  it('B93: the list of a server is kept for 30 seconds, and requested with the token', async () => {
    const { url, seen } = await stubServer()
    const clock = manualClock(1000)
    const executor = executorOver(url)
    await executor.start(host(clock))
    await clock.advance(29_999)
    executor.agents()
    expect(seen).toEqual(['GET /api/agents Bearer token-1'])
    await clock.advance(1)
    executor.agents()
    executor.agents()
    await executor.refresh?.()
    expect(seen).toHaveLength(2)
  })

  it('B3: of two servers with one agent the earlier is asked', async () => {
    const [one, two] = [await stubServer(problem(401, 'unauthenticated')), await stubServer(problem(404, 'session-missing'))]
    const executor = remoteExecutor({
      servers: [
        { id: 'one', baseUrl: one.url },
        { id: 'two', baseUrl: two.url },
      ],
    })
    const bridge = await startBridge(executor)
    expect(bridge.discover()).toHaveLength(1)
    expect(failureOf(await bridge.delegate({ prompt: 'Write.' }).result()).code).toBe('AUTH')
  })

  it('servers that could never work fail at once', () => {
    const build =
      (...servers: readonly RemoteServerOptions[]) =>
      () =>
        remoteExecutor({ servers })
    const config = expect.objectContaining({ code: 'CONFIG' })
    expect(build({ id: '', baseUrl: 'http://a.test' })).toThrow(config)
    expect(build({ id: 'a', baseUrl: 'ftp://a.test' })).toThrow(config)
    expect(build({ id: 'a', baseUrl: 'http://a.test' }, { id: 'a', baseUrl: 'http://b.test' })).toThrow(config)
  })
})
