import { join, resolve } from 'node:path'

export type Environment = Readonly<Record<string, string | undefined>>

const repository = resolve(import.meta.dirname, '../../../..')

/** `DEMO_DATA`, or `.bowline` beside the repository's README. */
export function dataFolderFrom(env: Environment): string {
  return resolve(env.DEMO_DATA || join(repository, '.bowline'))
}

/** `DEMO_PAGE`: where the supervisor has put the built page. */
export function pageFolderFrom(env: Environment): string {
  return resolve(env.DEMO_PAGE || join(repository, 'apps/studio/dist/page'))
}

/** `DEMO_PORT`. 0 takes any free port. */
export function portFrom(env: Environment): number {
  const text = env.DEMO_PORT || '8787'
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new SettingsError(`DEMO_PORT is ${text}: it must be 0 to 65535.`)
  return port
}

/** `DEMO_SERVER`: the supervisor has named this process, because there are several. */
export function isOneOfSeveral(env: Environment): boolean {
  return Boolean(env.DEMO_SERVER)
}

/** A mistake in the environment: starting again would not help. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
