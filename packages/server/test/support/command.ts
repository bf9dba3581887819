import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'

/** Command in its own process. It ends with the test. */
export interface RunningCommand {
  readonly child: ChildProcess
  /** Output so far. */
  stdout(): string
  stderr(): string
  /** Resolve with the match of the form as soon as stderr or stdout contains it. */
  says(form: RegExp): Promise<RegExpExecArray>
  logs(form: RegExp): Promise<RegExpExecArray>
  /** Resolves with the exit code or the signal. */
  readonly ended: Promise<number | string>
}

interface CommandOptions {
  /** Working folder. */
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
}

export const bin = (): string => program('server/src/bin/bowline-server')

/** Source of a module with agents that follow their input, for a command in this process. */
export const agentsFile = fileURLToPath(new URL('../fixtures/agents.ts', import.meta.url))

/** Same module, for a separate process. */
export const bundledAgents = (): string => program('server/test/fixtures/agents')

function command(argv: readonly string[], { folder, environment = {} }: CommandOptions): RunningCommand {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [...nodeFlags, bin(), ...argv], {
    cwd: folder,
    env: { PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name].setEncoding('utf8').on('data', (text: string) => (said[name] += text))
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => (code ?? signal) as number | string)
  const over = ended.then((code) => Promise.reject(new Error(`It ended with ${code}: ${said.stderr}`)))
  over.catch(() => undefined)
  const heard = (name: 'stdout' | 'stderr') => async (form: RegExp) => {
    for (;;) {
      const found = form.exec(said[name])
      if (found) return found
      await Promise.race([once(child[name], 'data'), over])
    }
  }
  return { child, stdout: () => said.stdout, stderr: () => said.stderr, ended, says: heard('stderr'), logs: heard('stdout') }
}

/** Runs a command to its end. */
export async function commandResult(argv: readonly string[], options: CommandOptions) {
  const running = command(argv, options)
  const code = await running.ended
  return { code, stdout: running.stdout(), stderr: running.stderr() }
}

/** Starts a server and waits until it listens. It has no authentication unless the file configures it. */
export async function servingCommand(
  argv: readonly string[],
  { auth = 'none', ...options }: CommandOptions & { readonly auth?: 'none' | 'file' },
): Promise<RunningCommand & { readonly url: string }> {
  const usual = ['--agents', bundledAgents(), '--port', '0', ...(auth === 'none' ? ['--auth', 'none'] : [])]
  const running = command([...usual, ...argv], options)
  const [, url = ''] = await running.says(/listening on (\S+)\n/)
  return { ...running, url }
}
