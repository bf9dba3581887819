import { spawnSync } from 'node:child_process'

/**
 * Runs a program and returns its output. Throws an error with the output if it fails.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 */
export function run(command, args, options = {}) {
  const result = spawnSync(command, [...args], { ...options, encoding: 'utf8' })
  if (result.error) throw result.error
  const output = `${result.stdout}${result.stderr}`
  if (result.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${result.status}:\n${output}`)
  return output
}
