// A program of its own, started by the bridge as the leader of a process group. It runs the worker with its own stdin,
// stdout and stderr, and ends the whole group when the worker ends or when the bridge is gone, which the pipe tells that
// only the bridge holds. It must need nothing but Node.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'

interface Order {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

const controlPipe = 3
// A worker whose stdin ends may finish; one that is asked to end, too. Both together stay far under 5 s.
const finishMs = 1500
const politeMs = 1000

// The group is asked to end by signals that also reach this process, and it must be the last to go.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

let worker: ChildProcess | undefined
let order = ''
const control = new Socket({ fd: controlPipe, readable: true, writable: false })
control.setEncoding('utf8')
control.on('data', (text: string) => {
  order += text
  if (!worker && order.endsWith('\n')) worker = run(JSON.parse(order) as Order)
})
control.on('error', () => {})
control.on('close', endGroup)

function run({ command, args, env, cwd }: Order): ChildProcess {
  const child = spawn(command, args, { env, stdio: 'inherit', windowsHide: true, ...(cwd !== undefined && { cwd }) })
  child.once('error', (error: NodeJS.ErrnoException) => report({ error: error.code ?? 'UNKNOWN' }))
  child.once('exit', (code, signal) => report({ code, signal }))
  return child
}

/** The bridge hears how the worker ended, and nothing of its group outlives it. */
function report(end: object): void {
  try {
    writeSync(controlPipe, `${JSON.stringify(end)}\n`)
  } catch {
    // The bridge is gone.
  }
  signalGroup('SIGKILL')
}

function endGroup(): void {
  setTimeout(() => signalGroup('SIGTERM'), finishMs)
  setTimeout(() => signalGroup('SIGKILL'), finishMs + politeMs)
}

function signalGroup(signal: NodeJS.Signals): void {
  if (process.platform !== 'win32') {
    process.kill(-process.pid, signal)
  } else {
    worker?.kill(signal)
    if (signal === 'SIGKILL') process.exit(1)
  }
}
