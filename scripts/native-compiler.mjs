import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './setup.mjs'

/**
 * Runs the native compiler of TypeScript 7, which takes a fifth of the time. It prints its findings on the terminal.
 *
 * @param {readonly string[]} args those of `tsc`
 * @returns {boolean} whether it found nothing
 */
export function compile(args) {
  const compiler = join(createRequire(import.meta.url).resolve('typescript-7/package.json'), '../bin/tsc')
  return spawnSync(process.execPath, [compiler, ...args], { cwd: root, stdio: 'inherit' }).status === 0
}
