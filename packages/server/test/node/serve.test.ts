import { emptyView, reduceEvents, type AgentEvent } from '@bowline/agent-loop'
import { ServerError } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { defaultLimits } from '../../src/limits.ts'
import { bench, gate, refusal, say, temporaryFolder, type Bench } from '../support/bench.ts'
import { serverProcess } from '../support/child.ts'
import { allFrames, completion, eventsOf, framesOf, framesUntil, typesOf, type Frame } from '../support/frames.ts'

const isType = (type: string) => (frame: Frame) => frame.data.type === type
const fold = (list: readonly AgentEvent[]) => list.reduce(reduceEvents, emptyView)
const json = { 'content-type': 'application/json' }

it('V57: without auth it listens on loopback only', async () => {
  const { server } = await bench({ auth: 'none' })
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'bowline.example']) {
    await expect(serve(server, { host, port: 0 })).rejects.toThrow(ServerError)
  }
  const running = await serve(server, { host: '::1', port: 0 })
  expect(running.url).toBe(`http://[::1]:${running.port}`)
  expect((await fetch(`${running.url}/healthz`)).status).toBe(200)
  await running.close({ drainMs: 0 })
})

it('a port in use rejects with the error of the system', async () => {
  const { server, running } = await bench()
  await expect(serve(server, { port: running.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

it('V36, V105: the first bytes are sent before the first event of the run', async () => {
  const hold = gate()
  const { execute } = await bench({ steps: [{ parts: [{ wait: hold.passed }], text: 'Hi.' }] })
  const answer = await execute({ input: say('hi'), context: {} })
  const { value } = await answer.body!.getReader().read()
  expect(new TextDecoder().decode(value as Uint8Array)).toMatch(/^retry: 2000\n/)
  hold.open()
})

it('V35: a stream without its last frame is cut by destroying the socket, never by a clean end', async () => {
  const broken = {
    fetch: () =>
      Promise.resolve(
        new Response(
          new ReadableStream({
            pull(controller) {
              if (sent++ === 0) controller.enqueue(new TextEncoder().encode('data: 1\n\n'))
              else controller.error(new Error('the source broke'))
            },
          }),
          { headers: { 'content-type': 'text/event-stream' } },
        ),
      ),
    close: () => Promise.resolve(),
    reload: () => Promise.resolve(),
    loopbackOnly: true,
    socketLimits: defaultLimits,
  }
  let sent = 0
  const running = await serve(broken, { port: 0 })
  const socket = connect(running.port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const raw = await readText(socket).catch((error: unknown) => String(error))
  expect(raw).not.toContain('0\r\n\r\n')
  sent = 0
  const answer = await fetch(running.url)
  await expect(answer.text()).rejects.toThrow()
  await running.close()
})

it('V35: a failure of the store while a stream is open is reported and cuts the socket', async () => {
  const { execute, get, runtime, faults } = await bench({ steps: [{ toolCalls: [{ name: 'gone', input: {} }] }, { text: 'Hi.' }] })
  await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  const readEvents = runtime.store.readEvents.bind(runtime.store)
  let reads = 0
  runtime.store.readEvents = (key, after, limit) =>
    ++reads > 1 ? Promise.reject(new Error('secret path /data')) : readEvents(key, after, limit)
  const frames: Frame[] = []
  const reading = (async () => {
    for await (const frame of framesOf(await get('/api/agent/session/mine/events?from=start'))) frames.push(frame)
  })()
  await expect(reading).rejects.toThrow()
  expect(frames.at(-1)?.data).toMatchObject({ type: 'stream-error', problem: { code: 'internal', status: 500 } })
  expect(JSON.stringify(frames) + JSON.stringify(faults)).not.toContain('secret')
  expect(faults).toContainEqual(expect.objectContaining({ message: 'a stream broke' }))
})

it('V72: headers that are too long end the connection', async () => {
  const { running } = await bench({ serveOptions: { headerBytes: 1024 } })
  const long = connect(running.port, '127.0.0.1')
  long.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(2000)}\r\n\r\n`)
  expect(await readText(long)).toContain('431')
})

it('V72: headers and bodies that come too slowly, or not at all, are cut in time, and other requests are served', async () => {
  const { running, get } = await bench({ serveOptions: { headersTimeoutMs: 400, bodyTimeoutMs: 800 } })
  const head = 'POST /api/agent/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n'
  const slow = ['', 'GET /healthz HTTP/1.1\r\nHost: local', `${head}\r\n{"input":`].map((begin) => {
    const socket = connect(running.port, '127.0.0.1')
    socket.write(begin)
    return readText(socket)
  })
  expect((await get('/healthz')).status).toBe(200)
  for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^HTTP\/1\.1 408 /)
})

it('V72: the limits of the server apply at its socket', async () => {
  const { running, get } = await bench({ limits: { headerBytes: 1024, headersTimeoutMs: 400, bodyTimeoutMs: 800 } })
  const head = 'POST /api/agent/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n'
  const slow = ['GET /healthz HTTP/1.1\r\nHost: local', `${head}\r\n{"input":`].map((begin) => {
    const socket = connect(running.port, '127.0.0.1')
    socket.write(begin)
    return readText(socket)
  })
  for (const answer of await Promise.all(slow)) expect(answer).toMatch(/^HTTP\/1\.1 408 /)
  const long = connect(running.port, '127.0.0.1')
  long.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(2000)}\r\n\r\n`)
  expect(await readText(long)).toContain('431')
  expect((await get('/healthz')).status).toBe(200)
})

it('V72: a limit of Infinity means no limit at the socket too', async () => {
  const { get } = await bench({
    limits: { headerBytes: Infinity, headersTimeoutMs: Infinity, bodyTimeoutMs: Infinity, slowReaderMs: Infinity },
  })
  expect((await get('/healthz')).status).toBe(200)
})

it('V72: a body has its own timeout, also if it is shorter than that of the headers', async () => {
  // The first server is the reference: its timeout for the body equals the one for the headers.
  const [other, quick] = await Promise.all(
    [
      { bodyTimeoutMs: 5000, headersTimeoutMs: 5000 },
      { bodyTimeoutMs: 100, headersTimeoutMs: 5000 },
    ].map((limits) => bench({ limits })),
  )
  const answerOf = async (which: Bench | undefined) => {
    const socket = connect(which?.running.port ?? 0, '127.0.0.1')
    socket.write('POST /api/agent/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{')
    return { which, text: await readText(socket) }
  }
  const first = await Promise.race([answerOf(other), answerOf(quick)])
  expect(first.which).toBe(quick)
  expect(first.text).toMatch(/^HTTP\/1\.1 408 /)
})

it('a request whose target cannot be read is refused with a problem', async () => {
  const { running } = await bench()
  for (const request of ['GET / HTTP/1.1\r\nHost: a b\r\n', 'GET /a\\b HTTP/1.1\r\nHost: localhost\r\n']) {
    const socket = connect(running.port, '127.0.0.1')
    socket.write(`${request}Connection: close\r\n\r\n`)
    expect(await readText(socket)).toMatch(/^HTTP\/1.1 403 .*"code":"host-not-allowed"/s)
  }
})

describe('shutdown', () => {
  it('V82: new work is refused while draining, reads go on, open streams may finish, and close waits for them', async () => {
    const hold = gate()
    const it = await bench({ steps: [{ parts: [{ wait: hold.passed }], text: 'Done.' }] })
    const open = await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
    expect(await (await it.get('/readyz')).json()).toEqual({ status: 'ready' })
    const closing = it.running.close({ drainMs: 60_000 })
    const ready = await it.get('/readyz')
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'not-ready' }])
    const refused = await it.execute({ sessionId: 'other', input: say('hi'), context: {} })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refusal(refused, 503, 'draining')).toMatchObject({ retryable: true })
    expect((await it.get('/api/agent/session/mine')).status).toBe(200)
    hold.open()
    expect(completion(await allFrames(open)).status).toBe('completed')
    await closing
    await expect(it.get('/healthz')).rejects.toThrow()
  })

  it('V82: streams that are still open after the drain end with drained, and the run is not stopped', async () => {
    const it = await bench({ steps: [{ text: 'Half of', hang: 'middle' }] })
    const open = await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const reading = allFrames(open)
    const closing = it.running.close({ drainMs: 0 })
    const frames = await reading
    expect(frames.at(-1)?.data).toEqual({ type: 'stream-end', reason: 'drained', resume: true })
    await closing
    expect(it.running.close()).toBe(closing)
  })

  it('V82: SIGTERM drains and exits with 0', async () => {
    const { url, child, ended } = await serverProcess(join(temporaryFolder(), 'data.db'), 'fast')
    const body = JSON.stringify({ sessionId: 'mine', input: say('hi'), context: {} })
    const answer = await fetch(`${url}/api/agent/execute`, { method: 'POST', headers: json, body })
    await framesUntil(answer, isType('execute-complete'))
    const reading = allFrames(await fetch(`${url}/api/agent/session/mine/events`))
    child.kill('SIGTERM')
    expect((await reading).at(-1)?.data).toMatchObject({ type: 'stream-end', reason: 'drained' })
    expect(await ended).toBe(0)
  })
})

it('V44: a reader attached before a crash gets a destroyed socket, and ends with the same bytes when it attaches again', async () => {
  const file = join(temporaryFolder(), 'data.db')
  const first = await serverProcess(file, 'slow')
  const body = JSON.stringify({ sessionId: 'mine', input: say('hi'), context: {} })
  const answer = await fetch(`${first.url}/api/agent/execute`, { method: 'POST', headers: json, body })
  const before: Frame[] = []
  const reading = (async () => {
    for await (const frame of framesOf(answer)) {
      before.push(frame)
      // Kills the server in the middle of the second answer.
      if (frame.data.type === 'text-delta') first.child.kill('SIGKILL')
    }
  })()
  await expect(reading).rejects.toThrow()
  expect(await first.ended).toBe('SIGKILL')
  expect(typesOf(before)).not.toContain('execute-complete')

  const second = await serverProcess(file, 'fast')
  const events = `${second.url}/api/agent/session/mine/events`
  const after = await framesUntil(await fetch(events, { headers: { 'last-event-id': before.at(-1)?.id ?? '' } }), isType('settled'))
  const whole = await framesUntil(await fetch(`${events}?from=start`), isType('settled'))
  const sessionStart = eventsOf(whole).slice(0, 1)
  expect(fold([...sessionStart, ...eventsOf(before), ...eventsOf(after)])).toEqual(fold(eventsOf(whole)))
  expect(JSON.stringify(eventsOf(whole))).toContain('The whole answer.')
  expect(typesOf(whole).filter((type) => type === 'tool-execution-start')).toHaveLength(1)
  second.child.kill('SIGTERM')
  await once(second.child, 'exit')
})
