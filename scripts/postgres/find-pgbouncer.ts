import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Folder of Debian, which is on the `PATH` of root only. */
const debianFolder = '/usr/sbin'

/**
 * Returns the PgBouncer of this machine: the one in `PGBOUNCER`, else the first one on `PATH`.
 *
 * Returns `undefined` if there is none, so that tests can be skipped by name. In CI, or if `PGBOUNCER` cannot be executed, it
 * throws instead.
 */
export function findPgBouncer(env: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  if (env['PGBOUNCER']) {
    if (isExecutable(env['PGBOUNCER'])) return env['PGBOUNCER']
    throw new Error(`PGBOUNCER names ${env['PGBOUNCER']}, which cannot be executed.`)
  }
  const folders = [...(env['PATH'] ?? '').split(delimiter), debianFolder].filter((folder) => folder !== '')
  const found = folders.map((folder) => join(folder, 'pgbouncer')).find(isExecutable)
  if (found === undefined && env['CI'])
    throw new Error('PgBouncer is missing: install it (apt-get install -y pgbouncer), or name it in PGBOUNCER.')
  return found
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
