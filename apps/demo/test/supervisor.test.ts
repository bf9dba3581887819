import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { lastFrame, openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, spawnDemo, startDemo } from './demo-process.ts'
import type { DemoEnv, DemoProcess } from './demo-process.ts'

async function run(folder: string, args: readonly string[], env: DemoEnv = {}) {
  const demo = spawnDemo(folder, args, env)
  const code = await new Promise((resolve) => demo.child.once('close', resolve))
  return { code, output: demo.output() }
}

/** Returns the process id of the server: the answer to a delayed kill contains it. */
async function serverOf({ url }: DemoProcess): Promise<number> {
  const { post } = await openPage(url)
  const { pid } = (await (await post('/studio/kill', { delayMs: 5000 })).json()) as { pid: number }
  return pid
}

describe('a running demo', { timeout: 60_000 }, () => {
  let dataFolder: string
  let demo: DemoProcess

  beforeAll(async () => {
    dataFolder = await makeDataFolder()
    demo = await startDemo(dataFolder)
  }, 60_000)

  afterAll(async () => {
    await demo.stop()
    await removeDataFolder(dataFolder)
  }, 30_000)

  it('D1: has printed one address', () => {
    expect(demo.output().match(/http:/g)).toHaveLength(1)
  })

  it('D2: its output and its pages name no other host', async () => {
    const { url, output } = demo
    const page = await (await fetch(url)).text()
    const scripts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path)
    expect(scripts.length).toBeGreaterThan(1)
    for (const path of scripts) expect(new URL(path, url).origin).toBe(new URL(url).origin)
    const policy = (await fetch(url)).headers.get('content-security-policy')
    expect(policy).toContain("default-src 'self'")
    expect(output()).not.toMatch(/https?:\/\/(?!127\.0\.0\.1)/)
  })

  it('D4: writes nothing outside of its data folder', async () => {
    const { post } = await openPage(demo.url)
    await lastFrame(await post('/api/agent/execute', { input: { role: 'user', content: 'index the docs' }, context: {} }))
    const written = await readdir(dataFolder)
    expect(written).toEqual(expect.arrayContaining(['data.db', 'docs-index.json', 'page-token']))
  })

  it('refuses a second server on the same data, with a clear message', async () => {
    const { code, output } = await run(dataFolder, [])
    expect(code).toBe(1)
    expect(output).toContain('store-locked')
    expect(output).not.toContain('next one starts')
  })

  it('D24: a server that dies is restarted and resumes its session', async () => {
    const { post, request } = await openPage(demo.url)
    const execute = (context: object) =>
      post('/api/agent/execute', { sessionId: 'kept', input: { role: 'user', content: 'hello' }, ...context })
    expect(await lastFrame(await execute({ context: {} }))).toMatchObject({ status: 'completed' })
    expect((await post('/studio/kill', { delayMs: 0 })).status).toBe(202)
    await demo.printed(/The server ended \(SIGKILL\)[^]*The server is back\./)
    expect((await request('/api/agent/session/kept')).status).toBe(200)
    expect(await lastFrame(await execute({}))).toMatchObject({ status: 'completed' })
  })

  describe('a second demo', () => {
    let otherFolder: string
    beforeAll(async () => {
      otherFolder = await makeDataFolder()
    })
    afterAll(() => removeDataFolder(otherFolder))

    it('D1, D3: a port in use gives a clear message that offers a free one, on which the next start becomes ready; SIGTERM ends it with 0', async () => {
      const { port } = new URL(demo.url)
      const { code, output } = await run(otherFolder, [], { DEMO_PORT: port })
      expect(code).toBe(1)
      const free = /DEMO_PORT=(\d+) npm start/.exec(output)?.[1]
      expect(output).toContain(`Port ${port} is taken. Port ${free} is free`)
      expect(Number(free)).toBeGreaterThan(Number(port))
      const other = await startDemo(otherFolder, { DEMO_PORT: free })
      expect(new URL(other.url).port).toBe(free)
      const pid = await serverOf(other)
      expect(await other.stop()).toBe(0)
      expect(isAlive(pid)).toBe(false)
    })
  })
})

describe('npm start', { timeout: 60_000 }, () => {
  let dataFolder: string

  beforeEach(async () => {
    dataFolder = await makeDataFolder()
  })

  afterEach(() => removeDataFolder(dataFolder))

  it('watches the page with --dev, and ends as cleanly', async () => {
    const demo = spawnDemo(dataFolder, ['--dev'])
    const [, url = ''] = await demo.printed(/ready: (http:\S+)/)
    expect((await fetch(url)).status).toBe(200)
    expect(await demo.stop()).toBe(0)
  })

  it.each([
    [{ DEMO_PORT: 'many' }, 'DEMO_PORT is many'],
    [{ DEMO_STORE: 'paper:' }, 'DEMO_STORE begins with paper:'],
  ])('refuses %j at once and says why', async (env, message) => {
    const { code, output } = await run(dataFolder, [], env)
    expect(code).toBe(1)
    expect(output).toContain(message)
    expect(output).not.toContain('next one starts')
  })

  it.each([[], ['--cli'], ['--cli', '--once', 'hi']])('refuses a data folder that cannot be written, and says so: %j', async (...args) => {
    const file = join(dataFolder, 'a-file')
    await writeFile(file, '')
    const { code, output } = await run(dataFolder, args, { DEMO_DATA: file })
    expect(code).toBe(1)
    expect(output).toContain(
      `The data folder ${file} cannot be written (EEXIST). Give this user the right to, or name another folder with DEMO_DATA.`,
    )
    expect(output).not.toContain('next one starts')
  })

  it('refuses a store from a newer version, and leaves it unchanged', async () => {
    await run(dataFolder, ['--cli', '--once', 'hi'])
    const database = new DatabaseSync(join(dataFolder, 'data.db'))
    database.exec("update meta set value = '99' where name = 'schema'")
    database.close()
    for (const args of [[], ['--cli', '--once', 'hi']]) {
      const { code, output } = await run(dataFolder, args)
      expect(code).toBe(1)
      expect(output).toContain('(schema-too-new)')
      expect(output).not.toContain('next one starts')
    }
  })

  it('leaves no server running when it is killed itself', async () => {
    const demo = await startDemo(dataFolder)
    const pid = await serverOf(demo)
    demo.child.kill('SIGKILL')
    await expect.poll(() => isAlive(pid), { timeout: 4000 }).toBe(false)
  })

  it('D36: --cli --once prints the answer and exits 0; payments are in the receipts of the data folder', async () => {
    const { code, output } = await run(dataFolder, ['--cli', '--once', 'pay the invoice'])
    expect(output).toContain('R-2041')
    expect(code).toBe(0)
    const receipts = (await readFile(join(dataFolder, 'receipts.jsonl'), 'utf8')).trim().split('\n')
    expect(receipts.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ invoice: '2041', amount: '120.00' }])
  })

  it('D36: --cli --once exits non-zero with the status word when the run does not complete', async () => {
    const { code, output } = await run(dataFolder, ['--cli', '--once', 'where am I'])
    expect(output).toMatch(/^awaiting-tools$/m)
    expect(code).toBe(1)
  })

  it('prints its usage if the arguments are invalid', async () => {
    for (const args of [['--once', 'hi'], ['--cli', '--dev'], ['--nonsense']]) {
      const { code, output } = await run(dataFolder, args)
      expect(code).toBe(2)
      expect(output).toContain('npm start -- --cli --once "text"')
    }
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
