import { runCommand } from '../../src/bin/run-command.ts'

/** A command as a process of its own would run it, without the time that a process takes. */
export async function runHere(argv: readonly string[], folder: string, environment: Readonly<Record<string, string>> = {}) {
  const said = { stdout: '', stderr: '' }
  const into = (name: 'stdout' | 'stderr') => (text: string) => {
    said[name] += `${text}\n`
    return Promise.resolve()
  }
  const code = await runCommand(argv, '1.2.3', { environment, folder, print: into('stdout'), tell: into('stderr') })
  return { code, ...said }
}
