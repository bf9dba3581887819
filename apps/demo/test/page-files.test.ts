import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDemoFetch } from '../src/server/demo-fetch.ts'
import { makeDataFolder, removeDataFolder } from './demo-process.ts'

const host = 'http://127.0.0.1:8787'
const script = 'export const knot = "bowline"\n'.repeat(200)

describe('the files of the page', () => {
  let folder: string
  let get: (path: string, headers?: Record<string, string>, method?: string) => Promise<Response>
  let more: ReadableStreamDefaultController<string>

  beforeAll(async () => {
    folder = await makeDataFolder()
    const page = join(folder, 'page')
    await mkdir(join(page, 'assets'), { recursive: true })
    await writeFile(join(page, 'index.html'), '<p>hello</p>')
    await writeFile(join(page, 'assets/page-1.js'), script)
    await writeFile(join(page, 'assets/page-1.js.br'), brotliCompressSync(script))
    await writeFile(join(page, 'assets/page-1.js.gz'), gzipSync(script))
    await writeFile(join(folder, 'secret.js'), 'secret')
    const api = {
      fetch: async () =>
        new Response(new ReadableStream({ start: (controller) => void (more = controller) }).pipeThrough(new TextEncoderStream())),
    }
    const info = { canKill: false }
    const fetch = createDemoFetch({
      port: 8787,
      token: 'token',
      info,
      effects: async () => ({ payments: 0, deletions: 0 }),
      pageFolder: page,
      api,
    })
    get = async (path, headers = {}, method = 'GET') => fetch(new Request(host + path, { headers, method }))
  })
  afterAll(() => removeDataFolder(folder))

  it.each([
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['identity', null, (body: Buffer) => body],
    ['', null, (body: Buffer) => body],
    ['br;q=0, gzip;q=0', null, (body: Buffer) => body],
  ])('come to a browser that accepts %j as %s, and caches keep them apart', async (accepted, encoding, decode) => {
    const response = await get('/assets/page-1.js', { 'accept-encoding': accepted })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.headers.get('vary')).toBe('Accept-Encoding')
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('content-type')).toContain('text/javascript')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'self'")
    const body = Buffer.from(await response.arrayBuffer())
    expect(response.headers.get('content-length')).toBe(String(body.length))
    expect(decode(body).toString()).toBe(script)
  })

  it('D5: the page itself is not cached and sets the token; a script does not', async () => {
    const page = await get('/', { 'accept-encoding': 'br' })
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('content-encoding')).toBeNull()
    expect(page.headers.get('set-cookie')).toContain('token')
    expect((await get('/assets/page-1.js')).headers.get('set-cookie')).toBeNull()
  })

  it.each(['/nothing.js', '/assets/../../secret.js', '/assets/%2e%2e/%2e%2e/secret.js', '/assets'])(
    'are the only ones that are served: %s is not',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(404)
      expect(await response.json()).toEqual({ code: 'route-not-found' })
      expect((await get('/', {}, 'POST')).status).toBe(404)
    },
  )

  it('the API is neither compressed nor buffered', async () => {
    const response = await get('/api/agent/session/s/events', { 'accept-encoding': 'br, gzip' })
    expect(response.headers.get('content-encoding')).toBeNull()
    const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader()
    more.enqueue('data: 1\n\n')
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('data: 1\n\n')
    await reader.cancel()
  })
})
