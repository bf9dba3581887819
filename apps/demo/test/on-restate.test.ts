import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDurable } from '@bowline/agent-loop/events'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { isRestateMissing, titleWithRestate } from '../../../scripts/restate.ts'
import { findRestate } from '../../../scripts/restate/find-restate.ts'
import type { StudioInfo } from '@bowline/studio/info'
import { lastFrame, openPage } from './browse.ts'
import { makeDataFolder, removeDataFolder, spawnDemo, startDemo } from './demo-process.ts'
import type { DemoProcess } from './demo-process.ts'
import { clientAt, killAt } from './disturbed.ts'

const lonely = testDatabase()

describe.skipIf(isRestateMissing)(titleWithRestate('a demo on Restate'), { timeout: 60_000 }, () => {
  const database = testDatabase()
  let dataFolder: string
  let demo: DemoProcess

  beforeAll(async () => {
    dataFolder = await makeDataFolder()
    demo = await startDemo(dataFolder, { DEMO_STORE: database.url }, ['--restate'])
  }, 60_000)

  afterAll(async () => {
    await demo.stop()
    await removeDataFolder(dataFolder)
  }, 30_000)

  const serversNow = async () => {
    const { request } = await openPage(demo.url)
    const { servers = [] } = (await (await request('/studio/info')).json()) as StudioInfo
    return servers
  }
  const restateFolders = async () => (await readdir(dataFolder)).filter((name) => name.startsWith('bowline-restate-'))

  it('D1, D4, V90: runs on two processes with one address, and Restate keeps its files in the data folder', async () => {
    expect(demo.output()).toMatch(/ready: http:\S+ \(servers A and B on Restate\)/)
    expect((await serversNow()).map(({ name, pid }) => [name, typeof pid])).toEqual([
      ['A', 'number'],
      ['B', 'number'],
    ])
    expect(await restateFolders()).toHaveLength(1)
    expect(demo.output()).not.toContain('Warning')
    const { post } = await openPage(demo.url)
    const execute = await post('/api/agent/execute', { sessionId: 'mine', input: { role: 'user', content: 'hello' }, context: {} })
    expect(await lastFrame(execute)).toMatchObject({ status: 'completed' })
  })

  it('D24, V90: a process that dies in a tool leaves its run to the other one, and comes back', async () => {
    const client = await clientAt(demo.url)
    // The second death shows that Restate reaches the process that has come back.
    for (const id of ['first', 'second']) {
      const before = await serversNow()
      const deaths = demo.output().match(/ended \(SIGKILL\)/g)?.length ?? 0
      const { post } = await openPage(demo.url)
      expect((await post('/studio/kill', { at: 'in-tool', sessionId: id })).status).toBe(202)
      const session = client.session(id)
      expect(await session.send('index the docs').accepted()).toMatchObject({ ok: true })
      const [, dead] = await demo.printed(new RegExp(`^(?:[^]*?Server (\\w) ended \\(SIGKILL\\)){${deaths + 1}}`))
      await expect.poll(async () => (await session.state()).status).toBe('completed')
      const owners = new Set<string | undefined>()
      for await (const event of session.attach({ from: 'start' })) {
        if (isDurable(event) && event.commit?.epoch !== undefined) owners.add(event.commit.owner)
        if (event.type === 'settled') break
      }
      const idOf = (isDead: boolean) => before.find(({ name }) => (name === dead) === isDead)?.runtimeId
      expect([...owners]).toEqual([idOf(true), idOf(false)])
      await demo.printed(new RegExp(`^(?:[^]*?Server \\w is back){${deaths + 1}}`))
    }
  })

  it('D24: a Restate that dies starts again with its files, and a run that waits for it goes on', async () => {
    const session = (await clientAt(demo.url)).session('engine')
    const [, pid] = await demo.printed(/Restate is process (\d+)\./)
    expect(await session.send('index the docs').accepted()).toMatchObject({ ok: true })
    for await (const event of session.attach({ from: 'start' })) if (event.type === 'tool-execution-start') break
    process.kill(Number(pid), 'SIGKILL')
    await demo.printed(/Restate ended\. It starts again in \d+ ms\.[^]*Restate is back as process \d+\./)
    await expect.poll(async () => (await session.state()).status).toBe('completed')
    const attempts: (number | undefined)[] = []
    for await (const event of session.attach({ from: 'start' })) {
      if (event.type === 'tool-execution-start') attempts.push(event.attempt)
      if (event.type === 'settled') break
    }
    expect(new Set(attempts)).toEqual(new Set([1]))
    expect(await session.send('hello').accepted()).toMatchObject({ ok: true })
    await expect.poll(async () => (await session.state()).status).toBe('completed')
    expect(await restateFolders()).toHaveLength(1)
  })

  it('SIGTERM ends every process with 0, and removes the files of Restate', async () => {
    const servers = await serversNow()
    expect(await demo.stop()).toBe(0)
    for (const { pid = 0 } of servers) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    expect(await restateFolders()).toEqual([])
  })

  it('D24, V90: the button kills the process that runs the tool; a run that is open at the end goes on at once at the next start', async () => {
    const folder = await makeDataFolder()
    const env = { DEMO_STORE: database.url, DEMO_SPEED: '4' }
    const ended = await startDemo(folder, env, ['--restate'])
    const session = (await clientAt(ended.url)).session('open')
    expect(await session.send('index the docs').accepted()).toMatchObject({ ok: true })
    const started = async (attempt: number) => {
      for await (const event of session.attach({ from: 'start' }))
        if (event.type === 'tool-execution-start' && event.attempt === attempt) break
    }
    await started(1)
    const { request } = await openPage(ended.url)
    const { servers } = (await (await request('/studio/info?session=open')).json()) as StudioInfo
    const owners = servers?.filter(({ isOwner }) => isOwner) ?? []
    await killAt(ended.url, { delayMs: 0, sessionId: 'open' })
    const [, dead] = await ended.printed(/Server (\w) ended \(SIGKILL\)/)
    expect(owners.map(({ name }) => name)).toEqual([dead])
    await started(2)
    await ended.printed(/is back/)
    expect(await ended.stop()).toBe(0)
    const next = await startDemo(folder, { ...env, DEMO_SPEED: '0' }, ['--restate'])
    onTestFinished(async () => {
      await next.stop()
      await removeDataFolder(folder)
    })
    const again = (await clientAt(next.url)).session('open')
    await expect.poll(async () => (await again.state()).status).toBe('completed')
    expect(next.output()).not.toContain('fault during wake')
  })
})

it.skipIf(isRestateMissing)(
  titleWithRestate('D24: if Restate cannot start again, the demo ends and says why'),
  { timeout: 60_000 },
  async () => {
    const dataFolder = await makeDataFolder()
    const program = join(dataFolder, 'restate-once')
    await writeFile(program, `#!/bin/sh\nmkdir "$0.started" && exec "${findRestate() ?? ''}" "$@"\n`, { mode: 0o700 })
    const demo = await startDemo(dataFolder, { DEMO_STORE: lonely.url, RESTATE_SERVER: program }, ['--restate'])
    const [, pid] = await demo.printed(/Restate is process (\d+)\./)
    process.kill(Number(pid), 'SIGKILL')
    const [code] = (await once(demo.child, 'close')) as [number]
    expect(code).toBe(1)
    expect(demo.output()).toContain(
      'The server does not start (Restate does not start again: Error: The Restate server has ended before it answered)',
    )
    await removeDataFolder(dataFolder)
  },
)

describe('npm start -- --restate', () => {
  const postgres = { DEMO_STORE: 'postgresql://me:s3cret@127.0.0.1:1/demo' }

  it.each([
    ['a store on Postgres', {}, 'On Restate the sessions are in Postgres: set DEMO_STORE to postgres://user:password@host:port/database.'],
    [
      'a Restate server',
      { ...postgres, RESTATE_SERVER: '/nowhere/restate-server' },
      'There is no Restate server at /nowhere/restate-server. Name one in RESTATE_SERVER, or leave it out to use the one from npm.',
    ],
  ])('says what to do without %s', async (_, env, message) => {
    const dataFolder = await makeDataFolder()
    const demo = spawnDemo(dataFolder, ['--restate'], env)
    const [code] = (await once(demo.child, 'close')) as [number]
    expect({ code, output: demo.output() }).toEqual({ code: 1, output: `${message}\n` })
    await removeDataFolder(dataFolder)
  })

  it('is not for the terminal', async () => {
    const dataFolder = await makeDataFolder()
    const demo = spawnDemo(dataFolder, ['--cli', '--restate'])
    const [code] = (await once(demo.child, 'close')) as [number]
    expect(code).toBe(2)
    expect(demo.output()).toContain('npm start -- --restate')
    await removeDataFolder(dataFolder)
  })
})
