import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { bundledFlags } from '../../scripts/programs.ts'

/** Running program, started the way a user starts it. */
export interface Program {
  readonly process: ChildProcess
  /** Resolves with the match once it is printed. Rejects if the program ends before. */
  printed(text: string | RegExp): Promise<string>
  /** Types a line in the terminal of the program. */
  type(line: string): void
  /** Resolves when the program has ended, with its whole output. */
  end(): Promise<{ readonly lines: readonly string[]; readonly faults: string; readonly code: number | null }>
}

export interface StartOptions {
  readonly arguments?: readonly string[]
  /** Working folder. Default: a new folder. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Returns a new folder, which is removed after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-example-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts `examples/<name>` without a key, so with its offline model. It is killed after the test. */
export function start(name: string, options: StartOptions = {}): Program {
  const { OPENAI_API_KEY: _key, ...env } = process.env
  const child = spawn(process.execPath, [...bundledFlags(), join(import.meta.dirname, '..', name), ...(options.arguments ?? [])], {
    cwd: options.folder ?? newFolder(),
    env: { ...env, ...options.env },
    stdio: 'pipe',
  })
  const closed = once(child, 'close')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await closed
  })
  let output = ''
  let faults = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (faults += text))
  return {
    process: child,
    async printed(text) {
      const found = (): string | undefined =>
        typeof text === 'string' ? (output.includes(text) ? text : undefined) : text.exec(output)?.[0]
      for (let isOpen = true; ;) {
        const part = found()
        if (part !== undefined) return part
        if (!isOpen) throw new Error(`${name} ended without ${String(text)}: ${output}\n${faults}`)
        isOpen = await Promise.race([once(child.stdout, 'data').then(() => true), closed.then(() => false)])
      }
    },
    type: (line) => void child.stdin.write(`${line}\n`),
    async end() {
      await closed
      return { lines: output.trimEnd().split('\n'), faults, code: child.exitCode }
    },
  }
}
