import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { onTestFinished, vi } from 'vitest'
import { nodeFlags } from '../../../../scripts/programs.ts'
import { runCommand } from '../../src/bin/run-command.ts'
import { fixtureFile, programFile } from '../programs.ts'

/** Arguments that start the command; a stdio client passes them to Node. */
export const nodeArgs = (): readonly string[] => [...nodeFlags, programFile('bin/bowline-bridge')]

export function fixture(name: string): string {
  return fixtureFile(`fixtures/${name}.config`)
}

export interface Command {
  readonly child: ChildProcessWithoutNullStreams
  /** Returns the stderr output so far. */
  stderr(): string
  stdout(): string
  /** Resolves with the first match in stderr. Rejects if the process ends first. */
  says(text: string | RegExp): Promise<string>
  /** Resolves with the next line of stdout. */
  line(): Promise<string>
  readonly lines: readonly string[]
  readonly exit: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

export interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly folder?: string
}

/** Starts the command; killed after the test. */
export function startCommand(args: readonly string[], options: CommandOptions = {}): Command {
  const command = spawnCommand(args, options)
  onTestFinished(() => void command.child.kill('SIGKILL'))
  return command
}

function spawnCommand(args: readonly string[], { environment = {}, folder }: CommandOptions): Command {
  const child = spawn(process.execPath, [...nodeArgs(), ...args], { env: { ...process.env, ...environment }, cwd: folder })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  const lines: string[] = []
  const iterator = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    stderr: () => stderr,
    stdout: () => stdout,
    says: async (text) => {
      for (;;) {
        const found = typeof text === 'string' ? (stderr.includes(text) ? text : undefined) : text.exec(stderr)?.[0]
        if (found !== undefined) return found
        if (child.stderr.readableEnded) throw new Error(`it ended without saying ${text}: ${stderr}`)
        await Promise.race([once(child.stderr, 'data'), once(child.stderr, 'end')])
      }
    },
    line: async () => {
      const { value } = await iterator.next()
      lines.push(value as string)
      return value as string
    },
    lines,
    exit: once(child, 'close') as Command['exit'],
  }
}

export interface Outcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command that ends by itself in this process, which is faster than starting one. */
export async function runHere(args: readonly string[], { environment = {}, folder }: CommandOptions = {}): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  const protocol = new Writable({ write: (chunk: Buffer, _encoding, done) => void ((stdout += chunk.toString()), done()) })
  const writing = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += String(text))))
  const folderOfProcess = vi.spyOn(process, 'cwd')
  if (folder !== undefined) folderOfProcess.mockReturnValue(folder)
  try {
    const exitCode = await runCommand(args, environment, protocol)
    return { exitCode, stdout, stderr }
  } finally {
    writing.mockRestore()
    folderOfProcess.mockRestore()
  }
}

export type HttpCommand = Command & { readonly url: string }

const onAnyPort = ['--http', '127.0.0.1:0'] as const

/** Starts a bridge over HTTP in its own process; killed after the test. */
export async function startHttpCommand(args: readonly string[], options: CommandOptions = {}): Promise<HttpCommand> {
  return listening(startCommand([...onAnyPort, ...args], options))
}

/** Like `startHttpCommand`, but shared by all tests of a file. The caller must kill it. */
export async function startSharedHttpCommand(args: readonly string[]): Promise<HttpCommand> {
  return listening(spawnCommand([...onAnyPort, ...args], {}))
}

async function listening(command: Command): Promise<HttpCommand> {
  const line = await command.says(/listening on \S+\n/)
  return { ...command, url: line.replace('listening on ', '').trim() }
}
