import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../free-port.ts'

/** Redis server on a loopback port, with its files in a temporary folder. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  readonly folder: string
  /** Saves its data and ends. Its files stay. */
  shutDown(): Promise<void>
  /** Ends it with `kill -9`. */
  kill(): Promise<void>
  /** Starts it again on the same port with its files. */
  start(): Promise<void>
  /** Stops it: from now on it answers nothing, and its connections stay open. */
  freeze(): void
  thaw(): void
  /** Ends it and removes its files. */
  stop(): Promise<void>
}

export type RedisConfig = Readonly<Record<string, string>>

/** Settings: every acknowledged change is in the append-only file, and nothing is ever evicted. */
const durable: RedisConfig = {
  appendonly: 'yes',
  appendfsync: 'always',
  save: '',
  'maxmemory-policy': 'noeviction',
  'enable-debug-command': 'local',
}

/** Ends the server when this process has ended in any way, because the input of the shell then closes. */
const guard =
  'exec 3<&0; (exec "$@") </dev/null & server=$!; echo "pid $server"; (read -r _ <&3; kill -9 "$server") & reader=$!; wait "$server"; kill "$reader"; echo ended'

const mostTries = 5

export async function startRedis(binary: string, config: RedisConfig = {}): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-redis-'))
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    try {
      const server = serverOn({ binary, port, folder, config })
      await server.start()
      return server
    } catch (error) {
      if (tries < mostTries && error instanceof PortTaken) continue
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }
}

class PortTaken extends Error {}

interface Running {
  readonly pid: number
  readonly ended: Promise<unknown>
}

interface Place {
  readonly binary: string
  readonly port: number
  readonly folder: string
  readonly config: RedisConfig
}

function serverOn(place: Place): RedisServer {
  let running: Running | undefined

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (!running) return
    const { pid, ended } = running
    running = undefined
    // A frozen process must continue before it handles the signal.
    process.kill(pid, 'SIGCONT')
    process.kill(pid, signal)
    await ended
  }
  return {
    url: `redis://127.0.0.1:${place.port}`,
    port: place.port,
    folder: place.folder,
    async start() {
      running ??= await launch(place)
    },
    shutDown: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    freeze: () => void (running && process.kill(running.pid, 'SIGSTOP')),
    thaw: () => void (running && process.kill(running.pid, 'SIGCONT')),
    async stop() {
      await end('SIGKILL')
      rmSync(place.folder, { recursive: true, force: true })
    },
  }
}

async function launch({ binary, port, folder, config }: Place): Promise<Running> {
  const settings = { ...durable, ...config, port: String(port), bind: '127.0.0.1', dir: folder, daemonize: 'no' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn('/bin/sh', ['-c', guard, 'sh', binary, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  const said: string[] = []
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()))
  let pid = 0
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    pid = Number(/^pid (\d+)$/.exec(line)?.[1] ?? pid)
    if (!line.includes('Ready to accept connections')) continue
    // Later output must not fill the pipe.
    child.stdout.resume()
    return { pid, ended }
  }
  await ended
  const text = said.join('\n')
  throw text.includes('Address already in use') ? new PortTaken(text) : new Error(`The Redis server has not started:\n${text}`)
}
