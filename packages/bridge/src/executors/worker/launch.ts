import { newSecret } from '../../worker/handshake.ts'
import { isRequestError } from '../../worker/wire-error.ts'
import { BrokenFrame } from './broken-frame.ts'
import { connectProcess } from './connection.ts'
import type { ConnectionListeners, WorkerConnection, WorkerHost } from './connection.ts'
import { workerEnvironment } from './environment.ts'
import { watchPings } from './heartbeat.ts'
import { readHello } from './hello.ts'
import type { Hello } from './hello.ts'
import type { WorkerSettings } from './options.ts'
import { startProcess } from './process.ts'
import { startFailure } from './start-failure.ts'

const drainMs = 2000
const startStderrBytes = 8 * 1024

/** One start of a worker, until its process ends. */
export interface Launch {
  readonly connection: WorkerConnection
  /** Rejects with a `BridgeError` if a restart cannot help, else with another error. */
  readonly ready: Promise<Hello>
  /** Resolves when the process can no longer be used. */
  readonly lost: Promise<void>
  /** Returns the reason of the loss, as far as known yet. */
  loss(): string
  /** Returns the reason and the last stderr lines of a process that was never ready. Undefined if it was ready. */
  startLoss(): string | undefined
  stderr(bytes: number): string
  /** Resolves after the process has exited. */
  end(): Promise<void>
  kill(): void
}

export function launchWorker(settings: WorkerSettings, { clock, acpClient }: WorkerHost, listeners: ConnectionListeners): Launch {
  const token = newSecret()
  const process = startProcess({ ...settings, ...environments(settings), clock })
  const connection = connectProcess(acpClient, process, listeners)
  let fault: string | undefined
  let exit: string | undefined
  let stopPings = (): void => {}
  let ended: Promise<void> | undefined
  let wasReady = false

  void connection.closed.then((reason) => {
    stopPings()
    if (reason instanceof BrokenFrame) fail(`sent ${reason.message}`)
  })
  void process.exited.then((how) => {
    exit = how
    letDrain()
  })

  function fail(reason: string): void {
    fault ??= reason
    connection.close()
  }

  /**
   * Lets remaining output be read, then closes the connection after a time limit, because a child of the worker may keep the pipe
   * open.
   */
  function letDrain(): void {
    const cancel = clock.setTimer(clock.now() + drainMs, () => (connection.stalled ? letDrain() : connection.close()))
    void connection.closed.then(cancel)
  }

  async function initialize(): Promise<Hello> {
    const late = (): void => fail(`was not ready within ${settings.startTimeoutMs} ms`)
    const cancel = clock.setTimer(clock.now() + settings.startTimeoutMs, late)
    try {
      if (settings.handshake === 'token') await connection.sendToken(token)
      const challenge = newSecret()
      const hello = readHello(settings, await connection.initialize({ challenge }), token, challenge)
      wasReady = true
      if (hello.pings) stopPings = watchPings(connection, clock, () => fail('did not answer three pings'))
      return hello
    } catch (error) {
      if (isRequestError(error)) fault ??= `refused to initialize: ${error.code}`
      throw error
    } finally {
      cancel()
    }
  }

  const loss = (): string => fault ?? exit ?? 'closed its output'
  const stderr = (bytes: number): string => process.stderrTail(bytes).replaceAll(token, '[redacted]')

  async function end(): Promise<void> {
    connection.close()
    await process.end()
  }

  return {
    connection,
    ready: initialize(),
    lost: connection.closed.then(() => {}),
    loss,
    startLoss: () => (wasReady ? undefined : startFailure(loss(), { ...settings, stderr: stderr(startStderrBytes) })),
    stderr,
    end: () => (ended ??= end()),
    kill: () => process.kill(),
  }
}

/** The token is in neither environment, because other processes of the same user can read it there. */
function environments(settings: WorkerSettings): { readonly env: Record<string, string>; readonly guardEnv: Record<string, string> } {
  return { env: workerEnvironment(settings, process.env), guardEnv: workerEnvironment({}, process.env) }
}
