// A separate program that the bridge starts as the leader of a process group. It runs the worker with its own stdin, stdout and
// stderr. It ends the whole group when the worker ends or the bridge is gone. It notices the latter because only the bridge holds
// the other end of the control pipe. It must need nothing but Node.
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
// First the worker may finish after its stdin ends, then after SIGTERM. Together this stays far below 5 s.
const finishMs = 1500
const politeMs = 1000

// Signals to the group also reach this process. It ignores them, because it must exit last.
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

/** Tells the bridge how the worker ended, then kills the rest of its process group. */
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
