import { join, resolve } from 'node:path'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { SettingsError } from './settings.ts'
import type { Environment } from './settings.ts'

/** `DEMO_STORE`: `sqlite:` (with or without a file) or `memory:`. */
export function chooseStore(env: Environment, dataFolder: string): SessionStore {
  const [, kind, rest = ''] = /^(sqlite|memory):(.*)$/.exec(env.DEMO_STORE || 'sqlite:') ?? []
  if (kind === 'memory') return memoryStore()
  if (kind === 'sqlite') return sqliteStore({ file: rest ? resolve(rest) : join(dataFolder, 'data.db') })
  throw new SettingsError(`DEMO_STORE is ${env.DEMO_STORE}: it must begin with sqlite: or memory:.`)
}
