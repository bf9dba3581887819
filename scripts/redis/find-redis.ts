import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * Returns the Redis server of this machine: the one in `REDIS_SERVER`, else the first one on `PATH`.
 *
 * Returns `undefined` if there is none, so that tests can be skipped by name. In CI, or if `REDIS_SERVER` cannot be executed, it
 * throws instead, because a check that did not run would look like one that passed.
 */
export function findRedis(env: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  if (env['REDIS_SERVER']) {
    if (isExecutable(env['REDIS_SERVER'])) return env['REDIS_SERVER']
    throw new Error(`REDIS_SERVER names ${env['REDIS_SERVER']}, which cannot be executed`)
  }
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const found = folders.map((folder) => join(folder, 'redis-server')).find(isExecutable)
  if (found === undefined && env['CI']) {
    throw new Error('Redis is missing: install it (apt-get install -y redis-server) or name a server in REDIS_SERVER')
  }
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
