import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionView } from '@bowline/client'
import { createToken } from '@bowline/server'
import pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { isPgBouncerMissing, pgBouncers, startPostgres, testDatabase, titleWithPgBouncer } from '../../../../scripts/postgres.ts'
import { nameStore, parseStore, type StoreChoice } from '../../src/config/store-choice.ts'
import { say, temporaryFolder } from '../support/bench.ts'
import { bundledAgents, commandResult, servingCommand } from '../support/command.ts'
import { allFrames, completion, framesUntil, type Frame } from '../support/frames.ts'

const mine = '/api/agent/session/mine'

function execute(url: string, content: string): Promise<Response> {
  const body = JSON.stringify({ sessionId: 'mine', input: say(content), context: {} })
  return fetch(`${url}/api/agent/execute`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
}

const isType = (type: string) => (frame: Frame) => frame.data.type === type

it('V90: the name of a Postgres store contains no password, wherever the address has it', () => {
  const nameOf = (text: string): string => nameStore(parseStore(text, '/') as StoreChoice)
  expect(nameOf('postgres://bowline:s3cret@db.local:5432/agents?password=s3cret')).toBe('postgres://bowline@db.local:5432/agents')
  expect(nameOf('postgresql://db.local/agents')).toBe('postgresql://db.local/agents')
  expect(nameOf('postgresql:///agents?host=/run/postgresql&password=s3cret')).toBe('postgresql:///agents')
})

async function tablesIn(url: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'bowline'",
    )
    return rows.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

describe.skipIf(isPgBouncerMissing)(titleWithPgBouncer('bowline-server through PgBouncer in transaction mode'), () => {
  const database = testDatabase()
  const startPooler = pgBouncers()

  it('S189, V90: directConnectionString gives the server its lock and its hints; check names it without the password', async () => {
    const folder = temporaryFolder()
    const environment = { BOWLINE_STORE: await startPooler(database.url, 'transaction') }
    const pooled = await servingCommand([], { folder, environment })
    expect(await (await fetch(`${pooled.url}/metrics`)).text()).toMatch(/^bowline_store_direct_connection 0$/m)
    pooled.child.kill('SIGTERM')
    expect(await pooled.ended).toBe(0)
    const direct = new URL(database.url)
    direct.password ||= 'unused'
    const flags = ['--direct-connection-string', direct.href]
    const { url, child, ended } = await servingCommand(flags, { folder, environment })
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^bowline_store_direct_connection 1$/m)
    expect(completion(await allFrames(await execute(url, 'hi'))).status).toBe('completed')
    const checked = await commandResult(['check', '--agents', bundledAgents(), '--auth', 'none', ...flags], { folder, environment })
    expect(checked.stdout).toMatch(/^ *directConnectionString +postgres(ql)?:\/\/.+ +--direct-connection-string$/m)
    expect(checked.stdout).not.toContain(direct.password)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
})

describe('bowline-server on Postgres', () => {
  const database = testDatabase()
  const untouched = testDatabase()
  const usual = ['--agents', bundledAgents(), '--auth', 'none']

  it('S191, V86: migrate creates the tables, and any number of servers work on them', async () => {
    const folder = temporaryFolder()
    const storeFlag = ['--store', database.url]
    const migrated = await commandResult(['migrate', ...storeFlag], { folder })
    expect(migrated).toMatchObject({ code: 0, stderr: '' })
    expect(migrated.stdout).toContain('has the tables of this version')
    expect(await tablesIn(database.url)).toEqual(expect.arrayContaining(['session', 'rate_limits']))
    const [one, two] = await Promise.all([
      servingCommand([], { folder, environment: { BOWLINE_STORE: database.url } }),
      servingCommand(storeFlag, { folder }),
    ])
    expect(completion(await allFrames(await execute(one.url, 'hi'))).status).toBe('completed')
    const views = await Promise.all([one, two].map(async ({ url }) => (await (await fetch(url + mine)).json()) as SessionView))
    expect(views[0]?.status).toBe('completed')
    expect(views[1]).toEqual(views[0])
    const replayed = await framesUntil(await fetch(`${two.url}${mine}/events?from=start`), isType('settled'))
    expect(replayed.map(({ data }) => data.type)).toContain('message-end')
    const figures = await (await fetch(`${two.url}/metrics`)).text()
    expect(figures).toMatch(/^bowline_store_direct_connection 1$/m)
    expect(figures).toMatch(/^bowline_store_connections [1-8]$/m)
    const checked = await commandResult(['check', ...usual, ...storeFlag], { folder })
    expect(checked).toMatchObject({ code: 0, stderr: '' })
    expect(checked.stdout).toMatch(/database +2 servers, 0 runs wait$/m)
    for (const { child, ended } of [one, two]) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
  })

  it('S191: check changes nothing in a database, and reports what a start would do', async () => {
    const { code, stdout, stderr } = await commandResult(['check', ...usual, '--store', untouched.url], { folder: temporaryFolder() })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('run bowline-server migrate')
    expect(await tablesIn(untouched.url)).toEqual([])
  })

  it('S199, V84: a server is not ready while Postgres is away, does not exit, and is ready again without help', async () => {
    const server = await startPostgres()
    try {
      const { url, child, ended, stdout, stderr } = await servingCommand(['--store', server.tcpUrl], { folder: temporaryFolder() })
      const readiness = async (): Promise<number> => (await fetch(`${url}/readyz`)).status
      expect(await readiness()).toBe(200)
      await server.end()
      expect(await readiness()).toBe(503)
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      await server.start()
      await vi.waitFor(async () => expect(await readiness()).toBe(200), { timeout: 20_000 })
      // A warning of the store is a log line like any other.
      expect(stdout()).toMatch(/"level":"warn".*The direct connection to Postgres was lost/)
      expect(stderr()).toMatch(/^bowline-server: listening on [^\n]*\n$/)
      expect(completion(await allFrames(await execute(url, 'hi'))).status).toBe('completed')
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    } finally {
      await server.stop()
    }
  })

  it('V75, V80: servers share each limit, and an outage of Postgres ends none of the servers', async () => {
    const server = await startPostgres()
    try {
      const folder = temporaryFolder()
      const { token, config } = await createToken({ id: 'ci', tenant: 'demo', scopes: ['admin'] })
      writeFileSync(
        join(folder, 'bowline.config.json'),
        JSON.stringify({ auth: { tokens: [config] }, limits: { requestsPerMinute: 4 }, store: server.tcpUrl }),
      )
      const servers = await Promise.all([1, 2].map(() => servingCommand([], { folder, auth: 'file' })))
      const ask = (url: string) => fetch(`${url}/api/agents`, { headers: { authorization: `Bearer ${token}` } })
      /** Asks again while the limiter of the server times out, because such a request passes uncounted. */
      const counted = async (url: string): Promise<number> => {
        const answer = await ask(url)
        return answer.headers.has('ratelimit') ? answer.status : counted(url)
      }
      const all = [...servers, ...servers, ...servers]
      const statuses = () => Promise.all(all.map(async ({ url }) => (await ask(url)).status))
      const passed = (await Promise.all(all.map(({ url }) => counted(url)))).filter((status) => status === 200)
      expect(passed.length).toBeLessThanOrEqual(4)
      for (const { url } of servers) expect(await counted(url)).toBe(429)
      await server.end()
      expect(new Set(await statuses())).toEqual(new Set([200]))
      expect(await Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/healthz`)).status))).toEqual([200, 200])
      await server.start()
      await vi.waitFor(async () => expect(await statuses()).toContain(429), { timeout: 20_000 })
      for (const { child, ended } of servers) {
        child.kill('SIGTERM')
        expect(await ended).toBe(0)
      }
    } finally {
      await server.stop()
    }
  })

  it('V86: an unreachable Postgres server gives a clear error without the password', async () => {
    const gone = new URL(database.url)
    gone.password = 's3cret'
    gone.port = '1'
    const { code, stderr } = await commandResult(['migrate', '--store', gone.href], { folder: temporaryFolder() })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^bowline-server: /)
    expect(stderr).not.toContain('s3cret')
  })
})

it('S191: migrate says that a store for one process needs no migration', async () => {
  expect(await commandResult(['migrate', '--store', 'memory:'], { folder: temporaryFolder() })).toEqual({
    code: 0,
    stderr: '',
    stdout: 'memory: needs no migration: the server does it when it opens the store\n',
  })
})
