import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/**
 * Runs a program in this one's place: same terminal, same signals, same exit code.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
export function runInForeground(command, args, options) {
  const child = spawn(command, [...args], { ...options, stdio: 'inherit' })
  // Ctrl+C in a terminal reaches the whole process group by itself; a second copy would count as a second Ctrl+C.
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
 * npm hands a signal to the shell between itself and its script, and many shells die of it without a word to the script:
 * the only trace is another parent.
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
