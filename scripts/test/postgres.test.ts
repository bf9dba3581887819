import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { isPgBouncerMissing, pgBouncers, startPostgres, testDatabase, titleWithPgBouncer } from '../postgres.ts'
import { Desk } from '../postgres/desk.ts'
import { findPgBouncer } from '../postgres/find-pgbouncer.ts'
import { findPostgres } from '../postgres/find-postgres.ts'
import { removeLeftClusters } from '../postgres/left-clusters.ts'

const folder = mkdtempSync(join(tmpdir(), 'bowline-postgres-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function ask(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(text)
    return Object.values(rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

/** Resolves when the process has ended. */
async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(existsSync(`/proc/${pid}`)).toBe(false), { timeout: 20_000 })
}

describe('the Postgres server of tests', () => {
  const database = testDatabase()

  it('gives each file a database of its own', async () => {
    expect(await ask(database.url, 'select current_database()')).toMatch(/^test_\d+_\d+$/)
    expect(await ask(database.url, 'show fsync')).toBe('off')
  })

  it('can be a private one that waits for the disk, restarts and leaves no files', async () => {
    const server = await startPostgres({ durable: true, settings: { max_connections: '7' } })
    const { pid, socketFolder } = server.address
    expect(await Promise.all(['fsync', 'max_connections', 'listen_addresses'].map((name) => ask(server.tcpUrl, `show ${name}`)))).toEqual([
      'on',
      '7',
      '127.0.0.1',
    ])
    await ask(server.url, 'create table kept (n int)')
    await server.restart()
    expect(await ask(server.url, 'select count(*) from kept')).toBe('0')
    await server.stop()
    await untilGone(pid)
    expect(existsSync(socketFolder)).toBe(false)
  })

  it('ends with the process that started it, also if that process is killed', async () => {
    const start = fileURLToPath(new URL('../postgres/start-postgres.ts', import.meta.url))
    const text = `const { startPostgres } = await import(${JSON.stringify(start)}); const { address } = await startPostgres(); console.log(JSON.stringify(address)); setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] })
    const { value } = await createInterface({ input: parent.stdout })[Symbol.asyncIterator]().next()
    const { pid, socketFolder } = JSON.parse(String(value)) as { pid: number; socketFolder: string }
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    await untilGone(pid)
    const keeper = Number(socketFolder.split('/').at(-1))
    await untilGone(keeper)
    expect(existsSync(socketFolder)).toBe(false)
  })

  it('is ended by the next user if its keeper was killed', async () => {
    const server = await startPostgres()
    const { pid, socketFolder } = server.address
    process.kill(Number(socketFolder.split('/').at(-1)), 'SIGKILL')
    await untilGone(Number(socketFolder.split('/').at(-1)))
    removeLeftClusters(dirname(socketFolder))
    await untilGone(pid)
    expect(existsSync(socketFolder)).toBe(false)
  })

  it('leaves folders of living keepers and of other programs alone', () => {
    for (const name of [String(process.pid), 'notes', '1']) mkdirSync(join(folder, 'root', name), { recursive: true })
    removeLeftClusters(join(folder, 'root'))
    expect(readdirSync(join(folder, 'root')).sort()).toEqual(['1', String(process.pid), 'notes'].sort())
    removeLeftClusters(join(folder, 'nowhere'))
  })

  it('is started once by the first user, and stopped by the last one', async () => {
    const happened: string[] = []
    const desk = new Desk(async () => {
      happened.push('started')
      return { url: 'postgresql://it', stop: async () => void happened.push('stopped') }
    })
    await desk.open()
    await desk.close()
    expect(happened).toEqual([])
    const [address] = [await desk.open(), await desk.open()]
    const answers = await Promise.all([1, 2].map(async () => (await fetch(address)).text()))
    expect(answers).toEqual(['postgresql://it', 'postgresql://it'])
    await desk.close()
    expect(happened).toEqual(['started'])
    await desk.close()
    expect(happened).toEqual(['started', 'stopped'])
  })

  it('tells every caller why it cannot be started', async () => {
    const desk = new Desk(() => Promise.reject(new Error('no server here')))
    const answer = await fetch(await desk.open())
    expect([answer.status, await answer.text()]).toEqual([500, 'Error: no server here'])
    await expect(desk.close()).rejects.toThrow('no server here')
  })
})

describe('the programs of Postgres', () => {
  it('are the newest of the machine, or else those of the package', () => {
    const newest = findPostgres({ PATH: '' })
    expect(execFileSync(join(newest.folder, 'postgres'), ['--version'], { encoding: 'utf8' })).toContain(` ${newest.major}.`)
    const old = join(folder, 'old')
    mkdirSync(old)
    for (const name of ['initdb', 'postgres']) writeFileSync(join(old, name), '#!/bin/sh\necho postgres 99.1\n', { mode: 0o755 })
    expect(findPostgres({ PATH: `/nowhere:${old}` })).toEqual({ folder: old, major: 99, isEmbedded: false })
  })

  it('can be chosen by their version: the package has 18', () => {
    expect(findPostgres({ PATH: '', TEST_POSTGRES_VERSION: '18' }).major).toBe(18)
    expect(() => findPostgres({ PATH: '', TEST_POSTGRES_VERSION: '11' })).toThrow(/no Postgres server of version 11 \(found .*18 in /)
    expect(() => findPostgres({ PATH: '', TEST_POSTGRES_VERSION: 'new' })).toThrow('TEST_POSTGRES_VERSION must be a major version')
  })
})

describe('the pooler of tests', () => {
  const database = testDatabase()
  const startPooler = pgBouncers()

  it('is skipped by name if it is missing, and fails in CI', () => {
    expect(findPgBouncer({ PGBOUNCER: process.execPath })).toBe(process.execPath)
    expect(() => findPgBouncer({ PGBOUNCER: '/nowhere/pgbouncer' })).toThrow(
      'PGBOUNCER names /nowhere/pgbouncer, which cannot be executed.',
    )
    if (isPgBouncerMissing) expect(() => findPgBouncer({ PATH: '', CI: 'true' })).toThrow('PgBouncer is missing: install it')
    expect(titleWithPgBouncer('a test')).toMatch(isPgBouncerMissing ? /^a test \(skipped: there is no PgBouncer/ : /^a test$/)
  })

  it.skipIf(isPgBouncerMissing)(titleWithPgBouncer('passes statements on to the database of the test'), async () => {
    const url = await startPooler(database.url, 'transaction')
    expect(await ask(url, 'select current_database()')).toBe(await ask(database.url, 'select current_database()'))
  })
})
