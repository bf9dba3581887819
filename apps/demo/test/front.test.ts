import { createServer, request } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../src/supervisor/free-port.ts'
import { openFront } from '../src/supervisor/front.ts'

const ends: (() => unknown)[] = []

afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts a server that answers with its name and the body of the request. */
function echo(name: string): Promise<string> {
  return listen((incoming, outgoing) => void readBody(incoming).then((body) => outgoing.end(`${name} ${body}`)))
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of incoming.setEncoding('utf8')) body += String(chunk)
  return body
}

async function frontOf(...urls: readonly string[]): Promise<string> {
  const front = await openFront({ port: 0, urls: () => urls })
  ends.push(() => front.close())
  return `http://127.0.0.1:${front.port}`
}

async function deadUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort(0)}`
}

function post(url: string, body: string): Promise<string> {
  return fetch(url, { method: 'POST', body }).then((response) => response.text())
}

describe('the front of several servers', () => {
  it('sends each request to the next server that is up', async () => {
    const url = await frontOf(await echo('A'), await echo('B'))
    expect([await post(url, '1'), await post(url, '2'), await post(url, '3')]).toEqual(['A 1', 'B 2', 'A 3'])
  })

  it('checks which are up at each request, and answers 503 if none is', async () => {
    const up: string[] = []
    const front = await openFront({ port: 0, urls: () => up })
    ends.push(() => front.close())
    const url = `http://127.0.0.1:${front.port}`
    const refused = await fetch(url)
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([503, '1', { code: 'no-server' }])
    up.push(await echo('A'))
    expect(await post(url, 'now')).toBe('A now')
  })

  it('sends the whole request to the other one if a server refuses the connection, and answers 503 if all do', async () => {
    const body = 'knot '.repeat(100_000)
    const url = await frontOf(await deadUrl(), await echo('B'))
    for (let time = 0; time < 2; time++) expect(await post(url, body)).toBe(`B ${body}`)
    expect((await fetch(await frontOf(await deadUrl(), await deadUrl()))).status).toBe(503)
  })

  it('never repeats a request that a server may have read: it cuts the connection', async () => {
    let asked = 0
    const dying = await listen((incoming) => {
      asked++
      void readBody(incoming).then(() => incoming.socket.destroy())
    })
    await expect(post(await frontOf(dying, dying), 'pay')).rejects.toThrow('fetch failed')
    expect(asked).toBe(1)
  })

  it('passes on a stream as it comes, and cuts it where its server dies', async () => {
    const gate = Promise.withResolvers<void>()
    const server = await listen((_incoming, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      void gate.promise.then(() => outgoing.write('data: 2\n\n', () => outgoing.destroy()))
    })
    const { body } = await fetch(await frontOf(server))
    const reader = (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toBe('data: 1\n\n')
    gate.resolve()
    expect((await reader.read()).value).toBe('data: 2\n\n')
    await expect(reader.read()).rejects.toThrow('terminated')
  })

  it('sends the headers of a stream that is still silent', async () => {
    const url = await frontOf(await listen((_incoming, outgoing) => void outgoing.writeHead(200, { 'x-kind': 'silent' }).flushHeaders()))
    expect((await fetch(url)).headers.get('x-kind')).toBe('silent')
  })

  it.each(['before', 'in the middle of'])('notifies the server when the reader leaves %s the answer', async (when) => {
    const asked = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const url = await frontOf(
      await listen((_incoming, outgoing) => {
        outgoing.once('close', left.resolve)
        if (when === 'before') asked.resolve()
        else outgoing.write('so far')
      }),
    )
    const leaving = new AbortController()
    const answer = fetch(url, { signal: leaving.signal })
    const refused = when === 'before' ? expect(answer).rejects.toThrow('aborted') : undefined
    await Promise.race([asked.promise, answer])
    leaving.abort()
    await Promise.all([left.promise, refused])
  })

  it('leaves method, path, host, all headers except those of the connection, and the bytes of the body unchanged', async () => {
    const compressed = Buffer.from([0x1f, 0x8b, 0, 255])
    const url = await frontOf(
      await listen(({ method, url: path, headers }, outgoing) => {
        outgoing
          .writeHead(201, { 'set-cookie': ['a=1', 'b=2'], 'content-encoding': 'gzip', asked: JSON.stringify({ method, path, headers }) })
          .end(compressed)
      }),
    )
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: 'rebound.example', cookie: 'a=1; b=2', 'x-own': 'kept', upgrade: 'h2c', connection: 'upgrade, keep-alive' }
      request(new URL('/a%20b?c=%2F', url), { method: 'DELETE', headers }, resolve).on('error', reject).end()
    })
    const asked = JSON.parse(String(answer.headers['asked'])) as unknown
    expect(asked).toEqual({
      method: 'DELETE',
      path: '/a%20b?c=%2F',
      headers: { host: 'rebound.example', cookie: 'a=1; b=2', 'x-own': 'kept', connection: 'keep-alive' },
    })
    expect([answer.statusCode, answer.headers['set-cookie'], answer.headers['content-encoding'], answer.headers.connection]).toEqual([
      201,
      ['a=1', 'b=2'],
      'gzip',
      'keep-alive',
    ])
    expect(Buffer.concat(await answer.toArray())).toEqual(compressed)
  })

  it('keeps the framing of a body of unknown length, also for unusual bodies', async () => {
    const url = await frontOf(await echo('A'), await echo('A'))
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sending = request(url, { method: 'DELETE', headers: { 'transfer-encoding': 'chunked' } }, resolve).on('error', reject)
      sending.write('GET /other HTTP/1.1\r\n\r\n')
      sending.end()
    })
    expect(await readBody(answer)).toBe('A GET /other HTTP/1.1\r\n\r\n')
  })

  it('passes on an answer that comes before the whole request was sent', async () => {
    const url = await frontOf(await listen((_incoming, outgoing) => outgoing.writeHead(413).end('too large')))
    const response = await fetch(url, { method: 'POST', body: 'knot '.repeat(1_000_000) })
    expect([response.status, await response.text()]).toEqual([413, 'too large'])
  })

  it('rejects if its port is in use', async () => {
    const { port } = new URL(await echo('A'))
    await expect(openFront({ port: Number(port), urls: () => [] })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})
