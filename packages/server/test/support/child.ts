import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export interface ServerProcess {
  readonly url: string
  readonly child: ChildProcess
  /** Resolves with the exit code, or the signal. */
  readonly ended: Promise<number | string>
}

const entry = fileURLToPath(new URL('../fixtures/server-process.ts', import.meta.url))

/** Starts the server of the fixture and waits until it listens. */
export async function serverProcess(file: string, pace: 'slow' | 'fast'): Promise<ServerProcess> {
  const child = fork(entry, [file, pace], { execArgv: ['--disable-warning=ExperimentalWarning'] })
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => (code ?? signal) as number | string)
  onTestFinished(() => void child.kill('SIGKILL'))
  const listening = once(child, 'message').then(([message]: unknown[]) => (message as { url: string }).url)
  const url = await Promise.race([
    listening,
    ended.then((code) => Promise.reject(new Error(`The server ended with ${code} before it listened.`))),
  ])
  return { url, child, ended }
}
