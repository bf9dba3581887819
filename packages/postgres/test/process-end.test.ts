import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { bundledFlags } from '../../../scripts/programs.ts'
import { placeOf } from './clients.ts'

const database = testDatabase()

const script = `
  import { defineAgent } from '@bowline/agent-loop'
  import { scriptedModel } from '@bowline/llm/testing'
  import { createRuntime } from '@bowline/sessions'
  import { postgresStore } from '@bowline/postgres'
  const { DATABASE_URL: connectionString, SLOW_URL: directConnectionString } = process.env
  const store = postgresStore({ connectionString, directConnectionString })
  const runtime = createRuntime({ agents: [defineAgent({ name: 'a', model: scriptedModel([]) })], store, concurrency: 0 })
  await runtime.start()
  // Meanwhile all connections have been opened: from now on none of them holds the process.
  for (let sent = 0; sent < 10; sent++) {
    await runtime.session('room:1').send('go')
    while (store.metrics().hintsSent < sent) await new Promise(setImmediate)
  }
  await runtime.stop()
  console.log('stopped')`

/** Returns the address of the database through a proxy that delays each answer a little. */
async function slowUrl(): Promise<string> {
  const { user = '', password, database: name = '', host, port } = placeOf(database.url)
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(
      host?.startsWith('/') === true ? { path: `${host}/.s.PGSQL.${port}` } : { host: host ?? 'localhost', port: port ?? 5432 },
    )
    for (const socket of [client, upstream]) open.add(socket.on('error', () => undefined))
    client.pipe(upstream)
    upstream.on('data', (part) => setTimeout(() => client.write(part), 50)).on('end', () => setTimeout(() => client.end(), 50))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const secret = password === undefined ? '' : `:${encodeURIComponent(String(password))}`
  return `postgresql://${user}${secret}@127.0.0.1:${(server.address() as AddressInfo).port}/${name}`
}

it('S194: a process that waits for the stop of its runtime does not exit earlier, even while a hint is being sent', async () => {
  const flags = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  const ended = promisify(execFile)(process.execPath, flags, {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, DATABASE_URL: database.url, SLOW_URL: await slowUrl() },
  })
  expect(await ended).toEqual({ stdout: 'stopped\n', stderr: '' })
})
