import { spawn } from 'node:child_process'
import type { ChildProcess, ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { inject } from 'vitest'
import type {} from '../../../scripts/programs.ts'

const supervisor = join(import.meta.dirname, '../src/supervisor.ts')

export type DemoEnv = Readonly<Record<string, string | undefined>>

export interface DemoProcess {
  readonly url: string
  readonly child: ChildProcess
  readonly dataFolder: string
  /** Output so far. */
  output(): string
  /** Resolves when the output matches the pattern. Rejects if the process ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  /** Ends the process like Ctrl+C and resolves with its exit code. */
  stop(): Promise<number | null>
}

/** Variables of the machine that no test may inherit. */
export const cleanEnv = {
  OPENAI_API_KEY: undefined,
  ANTHROPIC_API_KEY: undefined,
  GOOGLE_GENERATIVE_AI_API_KEY: undefined,
  DEMO_BASE_URL: undefined,
  DEMO_MODEL: undefined,
  DEMO_STORE: undefined,
  NODE_ENV: undefined,
} satisfies DemoEnv

export function makeDataFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'bowline-demo-'))
}

export function removeDataFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}

/** Starts the demo like `npm start`, in its own folder and at full speed. Resolves when it has printed its address. */
export async function startDemo(dataFolder: string, env: DemoEnv = {}, args: readonly string[] = []): Promise<DemoProcess> {
  const started = spawnDemo(dataFolder, args, env)
  const [, url = ''] = await started.printed(/ready: (http:\S+)/)
  return { ...started, url }
}

/** Returns the environment of a demo in this folder: at full speed, and otherwise without settings. */
export function demoEnv(dataFolder: string): Record<string, string | undefined> {
  return { ...process.env, ...cleanEnv, NODE_OPTIONS: inject('nodeOptions'), DEMO_DATA: dataFolder, DEMO_PORT: '0', DEMO_SPEED: '0' }
}

/** Starts the demo with arguments, without waiting for it. */
export function spawnDemo(dataFolder: string, args: readonly string[], env: DemoEnv = {}): Omit<DemoProcess, 'url'> {
  const child = spawn(process.execPath, [supervisor, ...args], {
    env: { ...demoEnv(dataFolder), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return followed(child, dataFolder)
}

/** Environment of a terminal: Node prints no colours if CI is set. */
const peoplesTerminal: DemoEnv = { TERM: 'xterm', CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined }

/** Starts the demo in a pseudo terminal with `script` of util-linux. Text written to the child is typed there. */
export function spawnTerminal(
  dataFolder: string,
  args: readonly string[],
  env: DemoEnv = {},
): Omit<DemoProcess, 'url'> & { readonly child: ChildProcessWithoutNullStreams } {
  const command = [process.execPath, supervisor, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: { ...demoEnv(dataFolder), ...peoplesTerminal, ...env } })
  return { ...followed(child, dataFolder), child }
}

interface Speaking extends ChildProcess {
  readonly stdout: Readable
  readonly stderr: Readable
}

function followed(child: Speaking, dataFolder: string): Omit<DemoProcess, 'url'> {
  let output = ''
  const waiting = new Set<() => void>()
  const changed = (): void => waiting.forEach((check) => check())
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      changed()
    })
  }
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  void exited.then(changed)
  return {
    child,
    dataFolder,
    output: () => output,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = pattern.exec(output)
          if (!match && child.exitCode === null && child.signalCode === null) return
          waiting.delete(check)
          if (match) resolve(match)
          else reject(new Error(`It ended without printing ${String(pattern)}:\n${output}`))
        }
        waiting.add(check)
        check()
      }),
    async stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}
