import { join, resolve } from 'node:path'

export type Environment = Readonly<Record<string, string | undefined>>

const repository = resolve(import.meta.dirname, '../../../..')

/** Reads `DEMO_DATA`. Default: `.bowline` in the root folder of the repository. */
export function dataFolderFrom(env: Environment): string {
  return resolve(env.DEMO_DATA || join(repository, '.bowline'))
}

/** Reads `DEMO_PAGE`, the folder into which the supervisor put the built page. */
export function pageFolderFrom(env: Environment): string {
  return resolve(env.DEMO_PAGE || join(repository, 'apps/studio/dist/page'))
}

/** Reads `DEMO_PORT`. 0 selects any free port. */
export function portFrom(env: Environment): number {
  const text = env.DEMO_PORT || '8787'
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new SettingsError(`DEMO_PORT is ${text}: it must be 0 to 65535.`)
  return port
}

/** Returns true if `DEMO_SERVER` is set: the supervisor has named this process, because there are several. */
export function isOneOfSeveral(env: Environment): boolean {
  return Boolean(env.DEMO_SERVER)
}

/** Reads `DEMO_RESTATE`, the address of the Restate server that the supervisor has started to place the sessions. */
export function restateUrlFrom(env: Environment): string | undefined {
  return env.DEMO_RESTATE || undefined
}

/** Fault of the environment: a restart would not help. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
