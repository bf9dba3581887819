import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../free-port.ts'

/** Restate server on loopback ports, with its files in a folder of its own. */
export interface RestateServer {
  /** URL of its ingress. */
  readonly url: string
  readonly adminUrl: string
  /** Id of its process. Undefined: it is not running. */
  readonly pid: number | undefined
  /** Makes it call the services at this address. */
  register(workerUrl: string): Promise<void>
  /** Pauses this invocation or resumes it, as an operator does. */
  pause(invocationId: string): Promise<void>
  resume(invocationId: string): Promise<void>
  /** Runs a query over its tables, such as `sys_invocation`. */
  query(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Ends it with `kill -9`. Its files stay. */
  kill(): Promise<void>
  /** Resolves when the running server has ended: with true if it did so by itself, with false after `kill` and `stop`. */
  died(): Promise<boolean>
  /** Starts it again on the same ports with its files. */
  start(): Promise<void>
  /** Stops it: from now on it answers nothing, and its connections stay open. */
  freeze(): void
  thaw(): void
  /** Ends it and removes its files. */
  stop(): Promise<void>
}

/** Ends the server when this process has ended in any way, because the input of the shell then closes. */
const guard =
  'exec 3<&0; (exec "$@") </dev/null 2>&1 & server=$!; echo "pid $server"; (read -r _ <&3; kill -9 "$server") & reader=$!; wait "$server"; kill "$reader"; echo ended'

const pollMs = 10
const startMs = 30_000
const electedMs = 120_000

interface Ports {
  readonly ingress: number
  readonly admin: number
  readonly node: number
}

/** Settings of a server as environment variables, such as `RESTATE_DEFAULT_NUM_PARTITIONS`. */
export type RestateSettings = Readonly<Record<string, string>>

/** Starts a server with no data. Its folder is made in `within`. */
export async function startRestate(binary: string, within = tmpdir(), settings: RestateSettings = {}): Promise<RestateServer> {
  const folder = mkdtempSync(join(within, 'bowline-restate-'))
  const [ingress, admin, node] = await Promise.all([freePort(), freePort(), freePort()])
  const ports = { ingress, admin, node }
  const [url, adminUrl] = [`http://127.0.0.1:${ingress}`, `http://127.0.0.1:${admin}`]
  let running: Awaited<ReturnType<typeof launch>> | undefined

  async function end(): Promise<void> {
    if (!running) return
    const { pid, child, ended } = running
    running = undefined
    if (child.exitCode === null) process.kill(pid, 'SIGKILL')
    await ended
  }

  const server: RestateServer = {
    url,
    adminUrl,
    get pid() {
      return running?.pid
    },
    async register(workerUrl) {
      const answer = await post(`${adminUrl}/deployments`, { uri: workerUrl, force: true })
      if (!answer.ok) throw new Error(`Restate did not register ${workerUrl}: ${answer.status} ${await answer.text()}`)
      await answer.body?.cancel()
    },
    async query(sql) {
      for (const untilMs = Date.now() + electedMs; ; await new Promise((resolve) => setTimeout(resolve, pollMs))) {
        const answer = await post(`${adminUrl}/query`, { query: sql })
        const text = await answer.text()
        if (answer.ok) return (JSON.parse(text) as { readonly rows: readonly Readonly<Record<string, unknown>>[] }).rows
        // After a start, queries fail until each partition has a new leader.
        if (answer.status < 500 || Date.now() > untilMs) throw new Error(`Restate answered ${answer.status}: ${text}`)
      }
    },
    pause: (invocationId) => operate(`${adminUrl}/invocations/${invocationId}/pause`),
    resume: (invocationId) => operate(`${adminUrl}/invocations/${invocationId}/resume`),
    kill: end,
    async died() {
      const was = running
      await was?.ended
      if (!was || running !== was) return false
      running = undefined
      return true
    },
    async start() {
      running ??= await launch(binary, folder, ports, settings)
      const { child } = running
      await Promise.all([answers(`${url}/restate/health`, child), answers(`${adminUrl}/health`, child)])
    },
    freeze: () => void (running && process.kill(running.pid, 'SIGSTOP')),
    thaw: () => void (running && process.kill(running.pid, 'SIGCONT')),
    async stop() {
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    await server.start()
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function launch(binary: string, folder: string, { ingress, admin, node }: Ports, settings: RestateSettings) {
  const env = {
    ...process.env,
    DO_NOT_TRACK: '1',
    RESTATE_DISABLE_TELEMETRY: 'true',
    RESTATE_BASE_DIR: folder,
    RESTATE_NODE_NAME: 'test',
    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    // The page would be loaded from the network.
    RESTATE_ADMIN__DISABLE_WEB_UI: 'true',
    RESTATE_DEFAULT_NUM_PARTITIONS: '2',
    // A frozen worker keeps its connection: without these, a retry would meet it again for a minute.
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: '1s',
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: '1s',
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MiB',
    RESTATE_LOG_FILTER: 'error',
    RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
    ...settings,
  }
  // In a process group of its own: it outlives Ctrl+C until this process ends it.
  const child = spawn('/bin/sh', ['-c', guard, 'sh', binary, '--no-logo'], { stdio: ['pipe', 'pipe', 'ignore'], env, detached: true })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const pid = Number(/^pid (\d+)$/.exec(line)?.[1])
    if (Number.isNaN(pid)) continue
    // Later output must not fill the pipe.
    child.stdout.resume()
    return { pid, child, ended }
  }
  throw new Error('The Restate server has not started')
}

function post(url: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Does not reject if the invocation is in another state meanwhile. */
async function operate(url: string): Promise<void> {
  const answer = await fetch(url, { method: 'PATCH' })
  const text = await answer.text()
  if (!answer.ok && ![404, 409].includes(answer.status)) throw new Error(`Restate answered ${answer.status}: ${text}`)
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  for (const untilMs = Date.now() + startMs; ; await new Promise((resolve) => setTimeout(resolve, pollMs))) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
    await answer?.body?.cancel()
    if (answer?.ok) return
    if (child.exitCode !== null) throw new Error('The Restate server has ended before it answered')
    if (Date.now() > untilMs) throw new Error(`The Restate server does not answer at ${url}`)
  }
}
