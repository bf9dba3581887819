import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chownSync, cpSync, mkdirSync, readFileSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../free-port.ts'
import type { PostgresPrograms } from './find-postgres.ts'

export interface ClusterOptions {
  readonly programs: PostgresPrograms
  /** New folder for all files of the server. Other users must not be able to read it. */
  readonly folder: string
  /** True if commits wait for the disk. */
  readonly durable: boolean
  /** Settings of the server in addition to those of this file. */
  readonly settings: Readonly<Record<string, string>>
}

/** Address of a server. The superuser is `postgres` and needs no password on the socket. */
export interface ClusterAddress {
  readonly socketFolder: string
  readonly port: number
  /** Password of the superuser for TCP on 127.0.0.1. */
  readonly password: string
  /** Process id of the server. */
  readonly pid: number
}

export interface StartedServer {
  readonly server: ChildProcess
  readonly address: ClusterAddress
}

/** User that runs the server, because `initdb` refuses root. */
interface User {
  readonly uid: number
  readonly gid: number
}

const password = 'bowline'

/** Creates a database cluster. A server can be started on it by `startServer`. */
export function createCluster(options: ClusterOptions): void {
  const user = serverUser()
  const { folder } = options
  if (user) chownSync(folder, user.uid, user.gid)
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password)
  if (user) chownSync(passwordFile, user.uid, user.gid)
  const flags = ['--no-sync', '--encoding=UTF8', '--locale=C', '--username=postgres', '--auth-local=trust', '--auth-host=scram-sha-256']
  const made = spawnSync(join(usablePrograms(options), 'initdb'), [...flags, `--pwfile=${passwordFile}`, '-D', dataFolder(folder)], {
    ...user,
    cwd: folder,
    encoding: 'utf8',
  })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`)
}

const mostTries = 5

/** Starts the server of a cluster and waits until it accepts connections. */
export async function startServer(options: ClusterOptions, port?: number): Promise<StartedServer> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOn(options, port ?? (await freePort()))
    } catch (error) {
      // Another process may meanwhile have taken the port.
      if (port !== undefined || tries === mostTries || !String(error).includes('Address already in use')) throw error
    }
  }
}

async function startOn(options: ClusterOptions, port: number): Promise<StartedServer> {
  const { folder } = options
  const settings = Object.entries({ ...settingsOf(options), port: String(port) }).map(([name, value]) => `--${name}=${value}`)
  const server = spawn(join(usablePrograms(options), 'postgres'), ['-D', dataFolder(folder), ...settings], {
    ...serverUser(),
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await untilReady(server)
  return { server, address: { socketFolder: folder, port, password, pid: server.pid ?? 0 } }
}

function dataFolder(folder: string): string {
  return join(folder, 'data')
}

function settingsOf({ folder, durable, settings }: ClusterOptions): Readonly<Record<string, string>> {
  const onDisk = durable ? {} : { fsync: 'off', full_page_writes: 'off' }
  return {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    max_connections: '200',
    shared_buffers: '64MB',
    // There is no replication.
    wal_level: 'minimal',
    max_wal_senders: '0',
    logging_collector: 'off',
    log_min_messages: 'log',
    ...onDisk,
    ...settings,
  }
}

/** Resolves when the server reports that it is ready. Continues to read its output, because a full pipe would stop it. */
async function untilReady(server: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const said: string[] = []
  if (!server.stderr) throw new TypeError('The server has no standard error.')
  createInterface({ input: server.stderr }).on('line', (line) => {
    if (said.length < 50) said.push(line)
    if (line.includes('database system is ready to accept connections')) resolve()
  })
  server.once('error', reject)
  server.once('exit', () => reject(new Error(`The Postgres server did not start: ${said.join('\n')}`)))
  await promise
}

/** Returns the user for the server. Returns undefined if the user of this process can run it. */
export function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (!found) throw new Error('Root must not run a Postgres server, and there is neither a user postgres nor a user nobody.')
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

/** Returns the folder of the programs. They are copied if another user must run them and cannot reach them. */
function usablePrograms({ programs, folder }: ClusterOptions): string {
  if (!programs.isEmbedded || !serverUser() || canReach(programs.folder)) return programs.folder
  const copy = join(folder, 'native')
  if (!statSync(copy, { throwIfNoEntry: false })) cpSync(dirname(programs.folder), copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

/** Returns true if every user can traverse the parent folders. */
function canReach(path: string): boolean {
  const isOpen = (statSync(path).mode & 0o001) !== 0
  return isOpen && (dirname(path) === path || canReach(dirname(path)))
}

/** Creates the folder of a cluster, which only the user of the server can read. */
export function createClusterFolder(root: string, name: string): string {
  const folder = join(root, name)
  for (;;) {
    // Other users can traverse the root, but cannot read the folders in it.
    mkdirSync(root, { recursive: true, mode: 0o755 })
    try {
      mkdirSync(folder, { mode: 0o700 })
      return folder
    } catch (error) {
      // Another keeper has just removed the empty root.
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
}

export function removeClusterFolder(root: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  try {
    rmdirSync(root)
  } catch (error) {
    // Another keeper uses the root or has removed it.
    if (!hasCode(error, 'ENOTEMPTY', 'ENOENT')) throw error
  }
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
