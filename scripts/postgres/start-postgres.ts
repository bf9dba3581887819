import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { ClusterAddress } from './cluster.ts'
import { findPostgres } from './find-postgres.ts'
import type { KeeperOptions, KeeperOrder } from './keeper.ts'

export interface StartPostgresOptions {
  /** Commits wait for the disk, and the files are not in memory. Default false. */
  readonly durable?: boolean
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string>>
  /** Major version, for example 18. Default: that of other tests. */
  readonly version?: number
}

/** Private Postgres server. It ends with this process in any case. */
export interface PostgresServer {
  readonly address: ClusterAddress
  /** Address with a socket that only this user can open. */
  readonly url: string
  /** Address with TCP and a password. */
  readonly tcpUrl: string
  /** Ends the server at once, as after a loss of power. */
  end(): Promise<void>
  /** Starts it again on its port. */
  start(): Promise<void>
  /** Ends and starts the server. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const sharedMemory = '/dev/shm'
const smallestMemoryBytes = 2 ** 30

/** Starts a separate server on its own port. */
export async function startPostgres({ durable = false, settings = {}, version }: StartPostgresOptions = {}): Promise<PostgresServer> {
  const wanted = version === undefined ? {} : { TEST_POSTGRES_VERSION: String(version) }
  const options: KeeperOptions = { programs: findPostgres({ ...process.env, ...wanted }), root: rootFolder(durable), durable, settings }
  // In its own process group, so that a signal of the terminal does not reach it.
  const keeper = spawn(process.execPath, [fileURLToPath(new URL('keeper.ts', import.meta.url)), JSON.stringify(options)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  const { stdin, stdout } = keeper
  const ended = once(keeper, 'exit')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  async function nextAddress(): Promise<ClusterAddress> {
    const line = await lines.next()
    if (line.done) throw new Error('The Postgres server ended: see standard error.')
    return JSON.parse(line.value) as ClusterAddress
  }
  async function order(text: KeeperOrder): Promise<void> {
    stdin.write(`${text}\n`)
    await nextAddress()
  }
  const address = await nextAddress()
  // The keeper does not keep this process alive. When this process ends, the server ends too.
  for (const each of [keeper, stdin, stdout]) if ('unref' in each && typeof each.unref === 'function') each.unref()
  return {
    address,
    url: urlOf(address),
    tcpUrl: `postgresql://postgres:${address.password}@127.0.0.1:${address.port}/postgres`,
    end: () => order('end'),
    start: () => order('start'),
    async restart() {
      await order('end')
      await order('start')
    },
    async stop() {
      keeper.ref()
      stdin.end()
      await ended
    },
  }
}

function urlOf({ socketFolder, port }: ClusterAddress): string {
  return `postgresql://postgres@${encodeURIComponent(socketFolder)}:${port}/postgres`
}

/** Returns a folder per user, because one user cannot remove the folders of another. */
function rootFolder(durable: boolean): string {
  return join(!durable && hasMemory() ? sharedMemory : tmpdir(), `bowline-postgres-${process.getuid?.() ?? 0}`)
}

function hasMemory(): boolean {
  if (!existsSync(sharedMemory)) return false
  const { bavail, bsize } = statfsSync(sharedMemory)
  return bavail * bsize >= smallestMemoryBytes
}
