import { readFile, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lastFrame, openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, spawnDemo, startDemo } from './demo-process.ts'
import type { DemoEnv } from './demo-process.ts'

describe('npm start', { timeout: 60_000 }, () => {
  let dataFolder: string
  const ends: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    dataFolder = await makeDataFolder()
  })

  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    await removeDataFolder(dataFolder)
  }, 30_000)

  async function start(env: DemoEnv = {}) {
    const demo = await startDemo(dataFolder, env)
    ends.push(() => demo.stop())
    return demo
  }

  async function run(args: readonly string[], env: DemoEnv = {}) {
    const demo = spawnDemo(dataFolder, args, env)
    const code = await new Promise((resolve) => demo.child.once('close', resolve))
    return { code, output: demo.output() }
  }

  async function takePort() {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ends.push(() => new Promise((resolve) => server.close(resolve)))
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  }

  it('D1: prints one address, and a second start is ready in 5 s', async () => {
    const first = await start()
    expect(first.output().match(/http:/g)).toHaveLength(1)
    await first.stop()
    const before = performance.now()
    await start()
    expect(performance.now() - before).toBeLessThan(5000)
  })

  it('watches the page with --dev, and ends as cleanly', async () => {
    const demo = spawnDemo(dataFolder, ['--dev'])
    const [, url = ''] = await demo.printed(/ready: (http:\S+)/)
    expect((await fetch(url)).status).toBe(200)
    expect(await demo.stop()).toBe(0)
  })

  it('D2: what it prints and serves names no other host', async () => {
    const { url, output } = await start()
    const page = await (await fetch(url)).text()
    const scripts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
    expect(scripts.length).toBeGreaterThan(1)
    for (const path of scripts) expect(new URL(path, url).origin).toBe(new URL(url).origin)
    const policy = (await fetch(url)).headers.get('content-security-policy')
    expect(policy).toContain("default-src 'self'")
    expect(output()).not.toMatch(/https?:\/\/(?!127\.0\.0\.1)/)
  })

  it('D3: a taken port is a clear message with a free one offered', async () => {
    const port = await takePort()
    const { code, output } = await run([], { DEMO_PORT: String(port) })
    expect(code).toBe(1)
    const free = Number(/DEMO_PORT=(\d+) npm start/.exec(output)?.[1])
    expect(output).toContain(`Port ${port} is taken. Port ${free} is free`)
    expect(free).toBeGreaterThan(port)
    const { url } = await start({ DEMO_PORT: String(free) })
    expect(new URL(url).port).toBe(String(free))
  })

  it.each([
    [{ DEMO_PORT: 'many' }, 'DEMO_PORT is many'],
    [{ DEMO_STORE: 'paper:' }, 'DEMO_STORE is paper:'],
  ])('refuses %j at once and says why', async (env, message) => {
    const { code, output } = await run([], env)
    expect(code).toBe(1)
    expect(output).toContain(message)
    expect(output).not.toContain('next one starts')
  })

  it('refuses a second server on the same data, and says so', async () => {
    await start()
    const { code, output } = await run([])
    expect(code).toBe(1)
    expect(output).toContain('store-locked')
    expect(output).not.toContain('next one starts')
  })

  it('D4: writes nothing outside of its data folder', async () => {
    const { url } = await start()
    const { post } = await openPage(url)
    await lastFrame(await post('/api/agent/execute', { input: { role: 'user', content: 'index the docs' }, context: {} }))
    const written = await readdir(dataFolder)
    expect(written).toEqual(expect.arrayContaining(['data.db', 'docs-index.json', 'page-token']))
  })

  it('D24: a server that dies is started again and takes its session up', async () => {
    const demo = await start()
    const { post, request } = await openPage(demo.url)
    const execute = (context: object) =>
      post('/api/agent/execute', { sessionId: 'kept', input: { role: 'user', content: 'hello' }, ...context })
    expect(await lastFrame(await execute({ context: {} }))).toMatchObject({ status: 'completed' })
    expect((await post('/demo/kill', { delayMs: 0 })).status).toBe(202)
    await demo.printed(/The server ended \(SIGKILL\)[^]*The server is back\./)
    expect((await request('/api/agent/session/kept')).status).toBe(200)
    expect(await lastFrame(await execute({}))).toMatchObject({ status: 'completed' })
  })

  it('leaves no server behind when it is killed itself', async () => {
    const demo = await startDemo(dataFolder)
    const { pid } = (await (await (await openPage(demo.url)).post('/demo/kill', { delayMs: 5000 })).json()) as { pid: number }
    demo.child.kill('SIGKILL')
    await expect.poll(() => isAlive(pid), { timeout: 4000 }).toBe(false)
  })

  it('ends with 0 on SIGTERM, and its server with it', async () => {
    const demo = await startDemo(dataFolder)
    const { pid } = (await (await (await openPage(demo.url)).post('/demo/kill', { delayMs: 5000 })).json()) as { pid: number }
    expect(await demo.stop()).toBe(0)
    expect(isAlive(pid)).toBe(false)
  })

  it('D36: --cli --once prints the answer and exits 0', async () => {
    const { code, output } = await run(['--cli', '--once', 'what is the weather in Oslo and Lima'])
    expect(output).toContain('**Lima** is warmer than Oslo by 25 degrees.')
    expect(code).toBe(0)
  })

  it('D36: --cli --once exits non-zero with the status word when the run does not complete', async () => {
    const { code, output } = await run(['--cli', '--once', 'where am I'])
    expect(output).toMatch(/^awaiting-tools$/m)
    expect(code).toBe(1)
  })

  it('says how it is used when the arguments make no sense', async () => {
    for (const args of [['--cli'], ['--once', 'hi'], ['--nonsense']]) {
      const { code, output } = await run(args)
      expect(code).toBe(2)
      expect(output).toContain('npm start -- --cli --once "text"')
    }
  })

  it('counts payments in the receipts of the data folder', async () => {
    await run(['--cli', '--once', 'pay the invoice'])
    const receipts = (await readFile(join(dataFolder, 'receipts.jsonl'), 'utf8')).trim().split('\n')
    expect(receipts.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ invoice: '2041', amount: '120.00' }])
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
