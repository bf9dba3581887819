import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import type { StudioInfo } from '@bowline/studio/info'
import { lastFrame, openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, spawnDemo, startDemo } from './demo-process.ts'
import type { DemoProcess } from './demo-process.ts'

describe('a demo on Postgres', { timeout: 60_000 }, () => {
  const database = testDatabase()
  let dataFolder: string
  let demo: DemoProcess

  beforeAll(async () => {
    dataFolder = await makeDataFolder()
    demo = await startDemo(dataFolder, { DEMO_STORE: database.url })
  }, 60_000)

  afterAll(async () => {
    await demo.stop()
    await removeDataFolder(dataFolder)
  }, 30_000)

  it('D1, V86: runs on two processes with one address, which serve the same sessions', async () => {
    expect(demo.output().match(/http:/g)).toHaveLength(1)
    const { post, request } = await openPage(demo.url)
    const { servers } = (await (await request('/studio/info')).json()) as StudioInfo
    expect(servers?.map(({ name }) => name)).toEqual(['A', 'B'])
    expect(new Set(servers?.map(({ pid }) => pid)).size).toBe(2)
    const execute = await post('/api/agent/execute', { sessionId: 'mine', input: { role: 'user', content: 'hello' }, context: {} })
    expect(await lastFrame(execute)).toMatchObject({ status: 'completed' })
    // The requests go to the two servers in turn.
    const views = [await (await request('/api/agent/session/mine')).json(), await (await request('/api/agent/session/mine')).json()]
    expect(views[1]).toEqual(views[0])
  })

  it('D5: both refuse requests that do not come from the page', async () => {
    for (let time = 0; time < 2; time++) {
      expect((await fetch(new URL('/api/agent/sessions', demo.url))).status).toBe(401)
      expect((await fetch(new URL('/studio/info', demo.url), { headers: { origin: 'http://127.0.0.1:1' } })).status).toBe(403)
    }
  })

  it('D24: a killed process is restarted, and meanwhile the other one answers', async () => {
    const { post, request } = await openPage(demo.url)
    const { pid } = (await (await post('/studio/kill', { delayMs: 0 })).json()) as { pid: number }
    const [, name] = await demo.printed(/Server (\w) ended \(SIGKILL\)/)
    const { servers } = (await (await request('/studio/info')).json()) as StudioInfo
    expect(servers?.find((server) => server.name === name)?.pid).not.toBe(pid)
    await demo.printed(new RegExp(`Server ${name} is back`))
  })

  it('D24: a process that dies in work for a worker leaves it to the other one, whose worker gets the same request', async () => {
    const { post, request } = await openPage(demo.url)
    await (await post('/studio/kill', { at: 'in-tool', sessionId: 'handed' })).json()
    const deaths = demo.output().match(/ended \(SIGKILL\)/g)?.length ?? 0
    await post('/api/agent/execute', { sessionId: 'handed', input: { role: 'user', content: 'ask the worker' }, context: {} })
      .then((response) => response.text())
      .catch((error: unknown) => expect((error as Error).message).toMatch(/terminated|fetch failed/))
    await demo.printed(new RegExp(`^(?:(?:(?!ended \\(SIGKILL)[^])*ended \\(SIGKILL){${deaths + 1}}`))
    const state = async () =>
      (await (await request('/api/agent/session/handed')).json()) as { readonly status: string; readonly messages: readonly unknown[] }
    await expect.poll(async () => (await state()).status, { timeout: 30_000 }).toBe('completed')
    expect(JSON.stringify((await state()).messages.at(-1))).toContain('needs about 72 cm')
    await demo.printed(new RegExp(`^(?:(?:(?!is back)[^])*is back){${deaths + 1}}`))
  })

  it('SIGTERM ends every process with 0', async () => {
    const { request } = await openPage(demo.url)
    const { servers = [] } = (await (await request('/studio/info')).json()) as StudioInfo
    expect(await demo.stop()).toBe(0)
    for (const { pid = 0 } of servers) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})

describe('npm start', { timeout: 60_000 }, () => {
  it.each([
    ['a server that is not there', 'postgresql://me:s3cret@127.0.0.1:1/demo', 'DEMO_STORE: Postgres cannot be reached (ECONNREFUSED)'],
    ['an address that is none', 'postgresql:me:s3cret@db', 'DEMO_STORE begins with postgresql:, but names no server'],
  ])('reports the mistake in DEMO_STORE once: %s', async (_, url, message) => {
    const dataFolder = await makeDataFolder()
    const demo = spawnDemo(dataFolder, [], { DEMO_STORE: url })
    const [code] = (await once(demo.child, 'close')) as [number]
    expect(code).toBe(1)
    expect(demo.output().split(message)).toHaveLength(2)
    expect(demo.output()).not.toMatch(/s3cret|next one starts/)
    await removeDataFolder(dataFolder)
  })

  it('D3: a port in use gives a clear message on Postgres too', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const dataFolder = await makeDataFolder()
    const demo = spawnDemo(dataFolder, [], { DEMO_STORE: 'postgresql://127.0.0.1:1/demo', DEMO_PORT: String(port) })
    const [code] = (await once(demo.child, 'close')) as [number]
    other.close()
    expect(code).toBe(1)
    expect(demo.output()).toContain(`Port ${port} is taken.`)
    await removeDataFolder(dataFolder)
  })
})
