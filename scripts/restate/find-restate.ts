import { createRequire } from 'node:module'
import { join } from 'node:path'

/**
 * Returns the Restate server of this machine: the one in `RESTATE_SERVER`, else the one from npm, which comes for x64 and arm64.
 *
 * Returns `undefined` if there is none, so that tests can be skipped by name. In CI it throws instead, because a check that did not
 * run would look like one that passed.
 */
export function findRestate(env: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  if (env['RESTATE_SERVER']) return env['RESTATE_SERVER']
  const require = createRequire(import.meta.url)
  try {
    const entry = createRequire(require.resolve('@restatedev/restate-server/package.json'))
    const manifest = entry.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/package.json`)
    return join(manifest, '..', 'bin', 'restate-server')
  } catch (error) {
    if (env['CI'])
      throw new Error('The Restate server is missing: install the dependencies again, or name a server in RESTATE_SERVER', { cause: error })
    return undefined
  }
}
