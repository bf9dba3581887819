import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/**
 * Runs a program in place of this one: same terminal, same signals, same exit code.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
export function runInForeground(command, args, options) {
  const child = spawn(command, [...args], { ...options, stdio: 'inherit' })
  // In a terminal, Ctrl+C reaches the whole process group. Forwarding it would count as a second Ctrl+C.
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  process.on('SIGINT', () => hasTerminal || child.kill('SIGINT'))
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.on('SIGHUP', () => child.kill('SIGHUP'))
  if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(() => child.kill('SIGTERM'))
  child.on('error', (error) => {
    console.error(`${command} could not be started: ${error.message}`)
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0))
  })
}

/**
 * Calls `run` when the parent process has ended. npm sends a signal to the shell between itself and its script, and many shells die
 * without forwarding it: the script can only detect its new parent.
 *
 * @param {() => void} run
 */
function whenOrphaned(run) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    run()
  }, 250)
  timer.unref()
}
