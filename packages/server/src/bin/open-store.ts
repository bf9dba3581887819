import { existsSync } from 'node:fs'
import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { ConfigError } from '../config/config-error.ts'
import { nameStore, type StoreChoice } from '../config/store-choice.ts'
import { createStore, loadPostgres } from './create-store.ts'

/** Opens an existing store. Creates nothing. */
export async function openedStore(choice: StoreChoice, owner: string, warn: (message: string) => void): Promise<SessionStore> {
  const fault = faultOf(choice)
  if (fault !== undefined) throw new ConfigError([{ path: 'store', message: fault }])
  const store = await storeToRead(choice, warn)
  await store.open({ namespace: 'default', owner, clock: systemClock })
  return store
}

function faultOf(choice: StoreChoice): string | undefined {
  if (choice.kind === 'memory') return 'a memory: store ends with its process; name the store of the server with --store'
  const path = choice.kind === 'sqlite' ? choice.file : choice.kind === 'file' ? choice.folder : undefined
  return path === undefined || existsSync(path)
    ? undefined
    : `there is no store ${nameStore(choice)}; name the store of the server with --store`
}

/**
 * Returns a store for reading. Without a listening connection, other processes do not see this one and it claims no run. Outdated
 * tables are refused.
 */
async function storeToRead(choice: StoreChoice, warn: (message: string) => void): Promise<SessionStore> {
  if (choice.kind !== 'postgres') return createStore(choice, warn)
  const { postgresStore } = await loadPostgres()
  return postgresStore({ connectionString: choice.connectionString, migrate: false, listen: false, poolSize: 1, onWarning: warn })
}
