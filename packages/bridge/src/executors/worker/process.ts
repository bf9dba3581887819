import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '@bowline/llm'
import { programFile } from '../../worker/program-file.ts'
import { keepStderr } from './stderr-ring.ts'

const afterStdinMs = 2000

export interface ProcessOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  /** Whether to run it under the guard, a small program that ends the worker if this process is gone. */
  readonly guard: boolean
  /** Environment of the guard, without the configured variables of the worker. */
  readonly guardEnv: Readonly<Record<string, string>>
  readonly cancelGraceMs: number
  /** Returns the path of a missing folder or file. */
  readonly missing: () => string | undefined
  readonly clock: Clock
}

/** The process of a worker, with its children. */
export interface WorkerProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Resolves with a description of the end, once no process of its group is running. */
  readonly exited: Promise<string>
  stderrTail(bytes: number): string
  /** Ends the process in steps: end of stdin, SIGTERM, SIGKILL. Resolves after it has exited. */
  end(): Promise<void>
  /** Kills the process at once. */
  kill(): void
}

/** Starts the command without a shell. `exited` reports a failed start. Throws if this process has no file descriptors left for it. */
export function startProcess(options: ProcessOptions): WorkerProcess {
  const { clock, cancelGraceMs } = options
  const child = options.guard ? spawnGuarded(options) : spawnBare(options)
  const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable]
  const ring = keepStderr(stderr)
  const exited = exitOf(child, options)
  let over = false
  const signal = (name: NodeJS.Signals): void => {
    if (!over) signalGroup(child, name)
  }
  void exited.then(() => (over = true))

  async function end(): Promise<void> {
    stdin.on('error', () => {}).end()
    const steps = [
      clock.setTimer(clock.now() + afterStdinMs, () => signal('SIGTERM'), { hold: true }),
      clock.setTimer(clock.now() + afterStdinMs + cancelGraceMs, () => signal('SIGKILL'), { hold: true }),
    ]
    await exited
    for (const cancel of steps) cancel()
  }

  return { stdin, stdout, exited, stderrTail: (bytes) => ring.tail(bytes), end, kill: () => signal('SIGKILL') }
}

function spawnBare({ command, args, cwd, env }: ProcessOptions): ChildProcess {
  return withStreams(spawn(command, args, { env, detached: true, windowsHide: true, stdio: ['pipe', 'pipe', 'pipe'], ...(cwd && { cwd }) }))
}

function spawnGuarded({ command, args, cwd, env, guardEnv }: ProcessOptions): ChildProcess {
  const guard = ['--disable-warning=ExperimentalWarning', programFile('executors/worker/guard')]
  const child = withStreams(
    spawn(process.execPath, guard, {
      env: guardEnv,
      detached: true,
      windowsHide: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    }),
  )
  const control = child.stdio[3] as Writable
  control.on('error', () => {})
  control.write(`${JSON.stringify({ command, args, cwd, env })}\n`)
  return child
}

/** Node returns a child without streams if it has no file descriptors for them, and emits the error later. */
function withStreams(child: ChildProcess): ChildProcess {
  if ((child.stdio as ChildProcess['stdio'] | undefined) !== undefined) return child
  // Without a listener, this error ends the process.
  child.on('error', () => {})
  throw new Error('could not be started: no file descriptors are left')
}

/** Prefers the guard's report about the worker to the exit of the guard itself. */
async function exitOf(child: ChildProcess, options: ProcessOptions): Promise<string> {
  let said = ''
  const control = child.stdio[3] as Readable | undefined
  const heard = new Promise<void>((resolve) => (control ? control.once('close', resolve) : resolve()))
  control?.on('data', (text: Buffer) => (said += text.toString()))
  const own = await new Promise<string>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => resolve(describeEnd({ error: error.code }, options)))
    child.once('exit', (code, signal) => resolve(describeEnd({ code, signal }, options)))
  })
  signalGroup(child, 'SIGKILL')
  await heard
  const told = endTold(said)
  return told ? describeEnd(told, options) : own
}

/** Returns undefined if the guard was killed before it had reported. */
function endTold(said: string): End | undefined {
  try {
    return said === '' ? undefined : (JSON.parse(said) as End)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

interface End {
  readonly error?: string | undefined
  readonly code?: number | null
  readonly signal?: string | null
}

function describeEnd({ error, code, signal }: End, { command, missing }: ProcessOptions): string {
  // The system reports a missing folder and a missing program with the same code.
  const absent =
    error === undefined ? undefined : (missing() ?? (error === 'ENOENT' ? `there is no program ${JSON.stringify(command)}` : undefined))
  if (absent !== undefined) return `could not be started: ${absent}`
  if (error !== undefined) return `could not be started: ${error}`
  return signal ? `ended by ${signal}` : `exited with ${code}`
}

/** Signals the group even if its leader is gone: the group id stays valid while any of its processes runs. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child
  if (pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill(signal)
    else process.kill(-pid, signal)
  } catch (error) {
    // No process of the group is left. For a zombie group, macOS reports EPERM.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
