import { join, resolve } from 'node:path'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import type { Environment } from './choose-model.ts'

const repository = resolve(import.meta.dirname, '../../../..')

/** `DEMO_DATA`, or `.bowline` beside the repository's README. */
export function dataFolderFrom(env: Environment): string {
  return resolve(env.DEMO_DATA || join(repository, '.bowline'))
}

/** `DEMO_STORE`: `sqlite:` (with or without a file) or `memory:`. */
export function storeFrom(env: Environment, dataFolder: string): SessionStore {
  const [, kind, rest = ''] = /^(sqlite|memory):(.*)$/.exec(env.DEMO_STORE || 'sqlite:') ?? []
  if (kind === 'memory') return memoryStore()
  if (kind === 'sqlite') return sqliteStore({ file: rest ? resolve(rest) : join(dataFolder, 'data.db') })
  throw new SettingsError(`DEMO_STORE is ${env.DEMO_STORE}: it must begin with sqlite: or memory:.`)
}

/** `DEMO_PAGE`: where the supervisor has put the built page. */
export function pageFolderFrom(env: Environment): string {
  return resolve(env.DEMO_PAGE || join(repository, 'apps/demo/dist/page'))
}

/** `DEMO_PORT`. 0 takes any free port. */
export function portFrom(env: Environment): number {
  const text = env.DEMO_PORT || '8787'
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new SettingsError(`DEMO_PORT is ${text}: it must be 0 to 65535.`)
  return port
}

/** A mistake in the environment: starting again would not help. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}
