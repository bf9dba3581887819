// What users get, looked at from outside: publint reads the tarball, attw resolves its types.
import { publishedPackages } from './packages.mjs'
import { run } from './run.mjs'

const failures = publishedPackages().flatMap(({ name, tarball }) => [
  ...failureOf(name, 'publint', ['run', tarball, '--strict']),
  ...failureOf(name, 'attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-definitely-typed']),
])
for (const failure of failures) console.error(failure)
process.exitCode = failures.length > 0 ? 1 : 0

/**
 * @param {string} name
 * @param {string} tool
 * @param {readonly string[]} args
 * @returns {string[]}
 */
function failureOf(name, tool, args) {
  try {
    run(tool, args)
    return []
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`]
  }
}
