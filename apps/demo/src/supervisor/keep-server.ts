import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { ServerMessage, SupervisorMessage } from '../server/process-messages.ts'

type Refusal = Extract<ServerMessage, { type: 'refused' }>

/** Reason why the server is not kept any more. */
export type ServerEnd = { readonly type: 'stopped' } | Refusal | { readonly type: 'failing'; readonly exit: string }

export interface KeptServer {
  /** Settles when the server is not kept any more. Never rejects. */
  readonly ended: Promise<ServerEnd>
  /** Sends a message to the process, if it is running. */
  tell(message: SupervisorMessage): void
  /** Ends the process cleanly and starts no other. */
  stop(): void
}

export interface ReadyServer {
  readonly url: string
  readonly pid: number
  /** Id of the runtime of this process. It is the owner of the runs that the process executes. */
  readonly runtimeId: string
}

export interface KeepServerOptions {
  /** Environment of each process. Read again for each start. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Name of the process, if it is one of several. */
  readonly name?: string
  /** Port of the page if `DEMO_PORT` is 0. Default: the port that the first process gets. */
  readonly port?: number
  readonly onReady: (server: ReadyServer) => void
  /** Makes Restate call a process at this URL. The process begins to work when this has resolved. Must not reject. */
  readonly register?: (workerUrl: string) => Promise<void>
  /** Called when the process has ended. Another one starts after the delay. */
  readonly onGone: (exit: string, restartInMs: number) => void
}

const main = join(import.meta.dirname, '../server/main.ts')
const firstDelayMs = 200
const longestDelayMs = 5000
const mostFailures = 6

/** Starts the server process, and restarts it when it dies. The delay grows each time that it dies before it is ready. */
export function keepServer({ env, name, port, onReady, register, onGone }: KeepServerOptions): KeptServer {
  const { promise: ended, resolve: end } = Promise.withResolvers<ServerEnd>()
  let child: ChildProcess | undefined
  let timer: NodeJS.Timeout | undefined
  let stopping = false
  let failures = 0
  let hasBeenReady = false
  let pagePort = port

  const start = (): void => {
    let refusal: Refusal | undefined
    // The system chooses the port of the first process. The page of that address must find the next process there.
    const address = env['DEMO_PORT'] === '0' && pagePort !== undefined ? { DEMO_PORT: String(pagePort) } : {}
    const process = startProcess({ ...env, ...address, ...(name !== undefined && { DEMO_SERVER: name }) })
    child = process
    process.on('message', (message: ServerMessage) => {
      if (message.type === 'refused') refusal = message
      else if (message.type === 'listening') void register?.(message.workerUrl).then(() => send(process, { type: 'registered' }))
      else {
        failures = 0
        hasBeenReady = true
        pagePort ??= Number(new URL(message.url).port)
        onReady({ url: message.url, pid: process.pid ?? 0, runtimeId: message.runtimeId })
      }
    })
    // If no process was started, there is no exit event.
    process.on('error', (error) => end({ type: 'failing', exit: error.message }))
    process.on('exit', (code, signal) => {
      child = undefined
      const exit = refusal?.message ?? signal ?? `exit code ${code}`
      if (stopping) end({ type: 'stopped' })
      else if (refusal && !(refusal.passing && hasBeenReady)) end(refusal)
      else if (++failures > mostFailures) end({ type: 'failing', exit })
      else restart(exit)
    })
  }

  const restart = (exit: string): void => {
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - 1))
    onGone(exit, delayMs)
    timer = setTimeout(start, delayMs)
  }

  start()
  return {
    ended,
    tell(message) {
      if (child) send(child, message)
    },
    stop() {
      if (stopping) return
      stopping = true
      clearTimeout(timer)
      if (!child) end({ type: 'stopped' })
      else if (child.connected) child.disconnect()
    },
  }
}

/** A process that has just died needs no message. */
function send(process: ChildProcess, message: SupervisorMessage): void {
  if (process.connected) process.send(message, () => undefined)
}

/**
 * Starts the process. It ends when the channel to its parent closes. Its output goes to stderr, because stdout may be used for an
 * answer.
 */
function startProcess(env: KeepServerOptions['env']): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], {
    env,
    stdio: ['ignore', 2, 2, 'ipc'],
  })
}
