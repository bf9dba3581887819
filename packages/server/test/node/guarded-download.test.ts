import { manualClock } from '@bowline/llm/testing'
import { ServerError } from '@bowline/server'
import { guardedDownload, type GuardedDownloadOptions } from '@bowline/server/node'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer as createRaw, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { certificateFor, fileServer } from '../support/file-server.ts'

// One loopback address counts as public here. All others are private.
const open = '127.0.0.2'
const inside = '127.0.0.1'

const signal = new AbortController().signal
const png: RequestListener = (_request, response) => response.setHeader('content-type', 'image/png').end('picture')
const code = (expected: string) => expect.objectContaining({ code: expected }) as Error

/** Creates a download whose resolver returns the public address for all names that are not listed. */
function download(options: GuardedDownloadOptions = {}, names: Record<string, readonly string[]> = {}) {
  const guarded = guardedDownload({
    http: true,
    allow: [open],
    resolve: (name) => Promise.resolve(names[name] ?? [open]),
    ...options,
  })
  return (url: string) => guarded(new URL(url), signal)
}

describe('a fetched file', () => {
  it('V73: is read from an allowed address, with its type', async () => {
    const { port, asked } = await fileServer(open, png)
    const { data, mediaType } = await download()(`http://files.example:${port}/a.png`)
    expect([new TextDecoder().decode(data), mediaType]).toEqual(['picture', 'image/png'])
    expect(asked).toEqual(['files.example/a.png'])
  })

  it('V73: is read over https, with the certificate of the name and not of the address', async () => {
    const tls = await certificateFor('files.example')
    const { port } = await fileServer(open, png, { tls })
    const get = download({ http: false, ca: [tls.cert] })
    expect((await get(`https://files.example:${port}/`)).mediaType).toBe('image/png')
    await expect(get(`https://other.example:${port}/`)).rejects.toEqual(code('invalid-input'))
    await expect(download({ http: false })(`https://files.example:${port}/`)).rejects.toEqual(code('invalid-input'))
  })

  it('V73: is read over http only where it is allowed, and never over another protocol', async () => {
    const { port, asked } = await fileServer(open, png)
    await expect(download({ http: false })(`http://files.example:${port}/`)).rejects.toEqual(code('url-not-allowed'))
    for (const url of ['file:///etc/passwd', 'ftp://files.example/', 'data:image/png;base64,AA', 'gopher://files.example/']) {
      await expect(download()(url)).rejects.toEqual(code('url-not-allowed'))
    }
    expect(asked).toEqual([])
  })

  it('V73: may not have user or password in its address', async () => {
    const { port, asked } = await fileServer(open, png)
    for (const who of ['user@', 'user:secret@', ':secret@']) {
      await expect(download()(`http://${who}files.example:${port}/`)).rejects.toEqual(code('url-not-allowed'))
    }
    expect(asked).toEqual([])
  })
})

describe('addresses', () => {
  const refusedHosts = [
    '127.0.0.1',
    'localhost.example',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0.0.0.0',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '[::ffff:168.63.129.16]',
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[2001:db8::1]',
    '[fec0::1]',
  ]

  it('V73: this machine, private, special and reserved networks are refused, however they are written', async () => {
    const { port, asked } = await fileServer(inside, png)
    const get = download({}, { 'localhost.example': [inside] })
    for (const host of refusedHosts) {
      await expect(get(`http://${host}:${port}/`), host).rejects.toEqual(code('url-not-allowed'))
    }
    expect(asked).toEqual([])
  })

  it('V73: each address of a name is tested: one that is not public refuses the name, and so does a name without an address', async () => {
    const { port, asked } = await fileServer(open, png)
    const get = download(
      {},
      { both: [open, '10.0.0.1'], mapped: ['::ffff:10.0.0.1'], zone: ['fe80::1%eth0'], none: [], text: ['files.example'] },
    )
    for (const name of ['both', 'mapped', 'zone', 'none', 'text']) {
      await expect(get(`http://${name}:${port}/`), name).rejects.toEqual(code('url-not-allowed'))
    }
    const lost = download({ resolve: () => Promise.reject(new Error('ENOTFOUND')) })
    // Same error as for a private name, so that a caller cannot find out which names exist.
    await expect(lost(`http://gone.example:${port}/`)).rejects.toMatchObject({
      code: 'url-not-allowed',
      message: 'The address of a file must be a public one.',
    })
    expect(asked).toEqual([])
  })

  it('V73: the connection goes to the tested address, whatever the name resolves to later', async () => {
    const outside = await fileServer(open, png)
    const secret = await fileServer(inside, png, { port: outside.port })
    let asked = 0
    const get = download({ resolve: () => Promise.resolve([asked++ === 0 ? open : inside]) })
    await get(`http://rebound.example:${outside.port}/`)
    expect(asked).toBe(1)
    await expect(get(`http://rebound.example:${outside.port}/`)).rejects.toEqual(code('url-not-allowed'))
    expect([outside.asked.length, secret.asked.length]).toEqual([1, 0])
  })

  it('V73: a list that cannot be read is refused', () => {
    expect(() => guardedDownload({ allow: ['10/8', 'host.example'] })).toThrow(ServerError)
  })
})

describe('redirects', () => {
  const to =
    (location: string, status = 302): RequestListener =>
    (_request, response) =>
      response.writeHead(status, { location }).end()

  it('V73: each redirect is tested again', async () => {
    const secret = await fileServer(inside, png)
    const targets = [
      'http://169.254.169.254/latest/meta-data/',
      `http://${inside}:${secret.port}/`,
      `http://inside.example:${secret.port}/`,
      'file:///etc/passwd',
      'http://u:p@files.example/',
    ]
    for (const target of targets) {
      const { port } = await fileServer(open, to(target))
      await expect(download({}, { 'inside.example': [inside] })(`http://files.example:${port}/`), target).rejects.toEqual(
        code('url-not-allowed'),
      )
    }
    const { port } = await fileServer(open, to('http://[broken'))
    await expect(download()(`http://files.example:${port}/`)).rejects.toEqual(code('invalid-input'))
    expect(secret.asked).toEqual([])
  })

  it('V73: three redirects are followed, a fourth is not', async () => {
    const { port, asked } = await fileServer(open, (request, response) => {
      const left = Number(request.url?.slice(1))
      if (left === 0) response.end('here')
      else response.writeHead(left % 2 === 0 ? 308 : 302, { location: `/${left - 1}` }).end()
    })
    const { data, mediaType } = await download()(`http://files.example:${port}/3`)
    expect([new TextDecoder().decode(data), mediaType]).toEqual(['here', 'application/octet-stream'])
    await expect(download()(`http://files.example:${port}/4`)).rejects.toEqual(code('invalid-input'))
    expect(asked).toHaveLength(8)
  })
})

describe('bounds', () => {
  it('V73: a file that is too large is not read to its end, whether its length is declared or not', async () => {
    for (const told of [true, false]) {
      let closed: () => void = () => undefined
      const cut = new Promise<void>((resolve) => (closed = resolve))
      const { port } = await fileServer(open, (_request, response) => {
        response.on('close', closed)
        if (told) response.setHeader('content-length', 1001)
        response.write('x'.repeat(600))
        if (!told) response.write('x'.repeat(600))
      })
      await expect(download({ maxBytes: 1000 })(`http://files.example:${port}/`)).rejects.toMatchObject({
        code: 'invalid-input',
        message: 'A file may have at most 1000 bytes.',
      })
      await cut
    }
  })

  it('V73: it is given up after 10 s, also while the name is looked up, and no timer or connection stays', async () => {
    const hanging: readonly [string, Partial<GuardedDownloadOptions>][] = [
      ['answer', {}],
      ['name', { resolve: () => new Promise(() => undefined) }],
    ]
    for (const [what, options] of hanging) {
      const clock = manualClock()
      const begun = Promise.withResolvers<void>()
      const { port } = await fileServer(open, () => begun.resolve())
      const answer = download({ clock, ...options })(`http://files.example:${port}/`)
      if (what === 'answer') await begun.promise
      const ended = expect(answer).rejects.toEqual(code('invalid-input'))
      await clock.advance(10_000)
      await ended
      expect(clock.pendingTimers).toBe(0)
    }
  })

  it('V73: a server that wants another protocol, or hangs up, gives no file, and its connection is closed', async () => {
    for (const answer of [
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      '',
    ]) {
      const clock = manualClock()
      const closed = Promise.withResolvers<void>()
      const server = createRaw((socket) => {
        socket.on('error', () => undefined).on('close', () => closed.resolve())
        socket.once('data', () => (answer === '' ? socket.destroy() : socket.write(answer)))
      })
      server.listen(0, open)
      await once(server, 'listening')
      onTestFinished(() => void server.close())
      const { port } = server.address() as AddressInfo
      await expect(download({ clock })(`http://files.example:${port}/`)).rejects.toEqual(code('invalid-input'))
      await closed.promise
      expect(clock.pendingTimers).toBe(0)
    }
  })

  it('V73: the caller may set a lower limit than the size that a file may have', async () => {
    const { port } = await fileServer(open, png)
    const guarded = guardedDownload({ http: true, allow: [open], resolve: () => Promise.resolve([open]) })
    const url = new URL(`http://files.example:${port}/`)
    await expect(guarded(url, signal, 6)).rejects.toMatchObject({ message: 'A file may have at most 6 bytes.' })
    expect((await guarded(url, signal, 7)).toBase64?.()).toBe(btoa('picture'))
  })

  it('V73: refusals of the server, and compressed files, are not accepted as files', async () => {
    for (const [status, encoding] of [
      [404, 'identity'],
      [500, 'identity'],
      [200, 'gzip'],
    ] as const) {
      const { port } = await fileServer(open, (_request, response) =>
        response.writeHead(status, { 'content-encoding': encoding }).end('secret of the server'),
      )
      await expect(download()(`http://files.example:${port}/`)).rejects.toMatchObject({
        code: 'invalid-input',
        message: expect.not.stringContaining('secret') as string,
      })
    }
    await expect(download()(`http://files.example:1/`)).rejects.toEqual(code('invalid-input'))
  })
})
