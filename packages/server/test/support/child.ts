import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'

export interface ServerProcess {
  readonly url: string
  readonly child: ChildProcess
  /** Resolves with the exit code or the signal. */
  readonly ended: Promise<number | string>
}

/** Starts a server on a store file and waits until it listens: with one slow or fast agent, or with the numbered answers. */
export function serverProcess(file: string, kind: 'slow' | 'fast' | 'answering'): Promise<ServerProcess> {
  return spawnServer(kind === 'answering' ? 'answering-process' : 'server-process', [file, kind])
}

/** Starts a server of the fixtures in its own process and waits until it listens. */
export async function spawnServer(fixture: string, args: readonly string[], { execArgv = [] }: SpawnOptions = {}): Promise<ServerProcess> {
  const child = fork(program(`server/test/fixtures/${fixture}`), args, { execArgv: [...nodeFlags, ...execArgv] })
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => (code ?? signal) as number | string)
  onTestFinished(() => void child.kill('SIGKILL'))
  const listening = once(child, 'message').then(([message]: unknown[]) => (message as { url: string }).url)
  const url = await Promise.race([
    listening,
    ended.then((code) => Promise.reject(new Error(`The server ended with ${code} before it listened.`))),
  ])
  return { url, child, ended }
}

interface SpawnOptions {
  readonly execArgv?: readonly string[]
}
