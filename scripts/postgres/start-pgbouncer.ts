import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { freePort } from '../free-port.ts'
import { serverUser } from './cluster.ts'

/** Pooler on a loopback port. It ends with this process in any case. */
export interface PgBouncer {
  /** Returns the URL of this database through the pooler. */
  urlOf(databaseUrl: string): string
  stop(): Promise<void>
}

export type PoolMode = 'session' | 'transaction' | 'statement'

/** Ends the pooler when this process has ended, because the input of the shell then closes. */
const guard =
  'exec 3<&0; (exec "$@") </dev/null & pooler=$!; (read -r _ <&3; kill -9 "$pooler") & reader=$!; wait "$pooler"; kill "$reader"'

const mostTries = 5

/** Starts a pooler for all databases of a server. Any user name is accepted. */
export async function startPgBouncer(
  binary: string,
  serverUrl: string,
  mode: PoolMode,
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    try {
      return await startOn({ binary, serverUrl, port, settings: { ...settings, pool_mode: mode } })
    } catch (error) {
      // Another process may meanwhile have taken the port.
      if (tries === mostTries || !String(error).includes('in use')) throw error
    }
  }
}

interface Place {
  readonly binary: string
  readonly serverUrl: string
  readonly port: number
  readonly settings: Readonly<Record<string, string>>
}

async function startOn({ binary, serverUrl, port, settings }: Place): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-pgbouncer-'))
  const file = join(folder, 'pgbouncer.ini')
  const user = serverUser()
  writeFileSync(file, configOf(serverUrl, port, settings), { mode: 0o600 })
  if (user) for (const path of [folder, file]) chownSync(path, user.uid, user.gid)
  const child = spawn('/bin/sh', ['-c', guard, 'sh', binary, file], { ...user, cwd: folder, stdio: ['pipe', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.stdin.end()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await untilReady(child)
  } catch (error) {
    await stop()
    throw error
  }
  const urlOf = (databaseUrl: string): string => {
    const { database = '' } = new pg.Client({ connectionString: databaseUrl })
    return `postgresql://anyone@127.0.0.1:${port}/${database}`
  }
  return { urlOf, stop }
}

function configOf(serverUrl: string, port: number, settings: Readonly<Record<string, string>>): string {
  const { host, port: serverPort, user = '', password } = new pg.Client({ connectionString: serverUrl })
  const secret = typeof password === 'string' ? ` password=${password}` : ''
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    max_client_conn: '200',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  return ['[databases]', `* = host=${host} port=${serverPort} user=${user}${secret}`, '[pgbouncer]', ...lines, ''].join('\n')
}

/** Resolves when it listens. Continues to read its output, because a full pipe would stop it. */
async function untilReady(child: {
  readonly stderr: NodeJS.ReadableStream
  once(event: 'exit', listener: () => void): unknown
}): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const said: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (said.length < 50) said.push(line)
    if (line.includes('process up')) resolve()
  })
  child.once('exit', () => reject(new Error(`PgBouncer did not start: ${said.join('\n')}`)))
  await promise
}
