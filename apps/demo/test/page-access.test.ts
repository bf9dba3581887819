import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastFrame, openPage } from './browse.ts'
import { phrases } from '../src/phrases.ts'
import { makeDataFolder, removeDataFolder, startDemo } from './demo-process.ts'
import type { DemoEnv, DemoProcess } from './demo-process.ts'

type Browser = Awaited<ReturnType<typeof openPage>>

/** Starts a demo for the tests of a suite, with its page in a browser. */
function openDemo(env?: DemoEnv): { readonly demo: () => DemoProcess; readonly browser: () => Browser } {
  let dataFolder: string
  let demo: DemoProcess
  let browser: Browser
  beforeAll(async () => {
    dataFolder = await makeDataFolder()
    demo = await startDemo(dataFolder, env)
    browser = await openPage(demo.url)
  }, 60_000)
  afterAll(async () => {
    await demo.stop()
    await removeDataFolder(dataFolder)
  }, 30_000)
  return { demo: () => demo, browser: () => browser }
}

describe('access to the demo', { timeout: 60_000 }, () => {
  const { demo, browser } = openDemo()

  it('D5: the page load sets a token cookie that scripts and other sites cannot read', () => {
    const cookie = browser().page.headers.get('set-cookie')
    expect(cookie).toMatch(/^bowline-demo-\d+=[\w-]{43};/)
    expect(cookie).toContain('HttpOnly')
    expect(cookie).toContain('SameSite=Strict')
  })

  it('D5: the API answers only with the cookie', async () => {
    expect((await browser().request('/api/agent/sessions')).status).toBe(200)
    expect((await fetch(new URL('/api/agent/sessions', demo().url))).status).toBe(401)
    expect((await fetch(new URL('/studio/info', demo().url))).status).toBe(401)
    expect((await browser().request('/api/agent/sessions', { headers: { cookie: 'bowline-demo-1=x' } })).status).toBe(401)
  })

  it('D5: programs that can read the data folder get in with its token too: the terminal, and clients of MCP', async () => {
    const token = (await readFile(join(demo().dataFolder, 'page-token'), 'utf8')).trim()
    const call = (path: string, bearer: string, init: RequestInit = {}) =>
      fetch(new URL(path, demo().url), {
        ...init,
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      })
    const list = { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }) }
    expect((await call('/api/agent/sessions', token)).status).toBe(200)
    expect((await call('/studio/info', token)).status).toBe(200)
    const tools = await call('/mcp', token, list)
    expect([tools.status, await tools.text()]).toEqual([200, expect.stringContaining('tasks_delegate')])
    expect((await call('/mcp', 'x', list)).status).toBe(401)
    expect((await call('/studio/info', 'x')).status).toBe(401)
  })

  it.each(['/', '/studio/info', '/api/agent/sessions'])('D5: another origin gets 403 for %s, with or without a cookie', async (path) => {
    const response = await browser().request(path, { headers: { origin: 'http://127.0.0.1:1' } })
    expect(response.status).toBe(403)
    expect(response.headers.get('set-cookie')).toBeNull()
    expect(await response.json()).toMatchObject({ code: 'origin-not-allowed' })
  })

  it.each(['/', '/studio/info', '/api/agent/sessions', '/mcp'])('D5: another host name gets 403 for %s', async (path) => {
    const { port } = new URL(demo().url)
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest({ host: '127.0.0.1', port, path, headers: { host: `rebound.example:${port}` } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('error', reject).end()
    })
    expect(status).toBe(403)
  })

  it('D5: listens on loopback only', () => {
    expect(new URL(demo().url).hostname).toBe('127.0.0.1')
  })

  it.each(['/../package.json', '/%2e%2e/%2e%2e/package.json', '/assets/../../../../package.json', '/nothing.js'])(
    'serves nothing but the built page: %s',
    async (path) => {
      expect((await browser().request(path)).status).toBe(404)
    },
  )

  it('D25: the kill route accepts only a delay of 0 to 5 s, and only by POST', async () => {
    for (const delayMs of [-1, 5001, '1', null]) expect((await browser().post('/studio/kill', { delayMs })).status).toBe(400)
    expect((await browser().request('/studio/kill')).status).toBe(404)
    expect((await browser().request('/healthz')).status).toBe(200)
  })

  it('D8: tells the page which model answers', async () => {
    const info: unknown = await (await browser().request('/studio/info')).json()
    expect(info).toMatchObject({
      model: { provider: 'offline', modelId: 'bowline-offline', offline: true },
      effects: { payments: 0, deletions: 0 },
      canKill: true,
      phrases,
    })
  })
})

describe('a demo in production whose model has no key', { timeout: 60_000 }, () => {
  const { browser } = openDemo({ NODE_ENV: 'production', DEMO_MODEL: 'anthropic:claude-opus-5' })

  it('D25: has no kill route', async () => {
    expect((await browser().post('/studio/kill', { delayMs: 0 })).status).toBe(404)
    expect(await (await browser().request('/studio/info')).json()).toMatchObject({ canKill: false })
  })

  it('D9: tells the page the name of the key, and stays up', async () => {
    expect(await (await browser().request('/studio/info')).json()).toMatchObject({ problem: { variable: 'ANTHROPIC_API_KEY' } })
    const execute = await browser().post('/api/agent/execute', { input: { role: 'user', content: 'hi' }, context: {} })
    expect(await lastFrame(execute)).toMatchObject({ type: 'execute-complete', status: 'completed' })
  })
})
