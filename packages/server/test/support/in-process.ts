import { runCommand } from '../../src/bin/run-command.ts'

/** Runs a command like its own process would, without the time to start one. */
export async function runHere(argv: readonly string[], folder: string, environment: Readonly<Record<string, string>> = {}) {
  const said = { stdout: '', stderr: '' }
  const into = (name: 'stdout' | 'stderr') => (text: string) => {
    said[name] += `${text}\n`
    return Promise.resolve()
  }
  const code = await runCommand(argv, '1.2.3', { environment, folder, print: into('stdout'), tell: into('stderr') })
  return { code, ...said }
}
