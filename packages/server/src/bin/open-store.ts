import { existsSync } from 'node:fs'
import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { ConfigError } from '../config/config-error.ts'
import { nameStore, type StoreChoice } from '../config/store-choice.ts'
import { createStore } from './create-store.ts'

/** Opens a store that is there: nothing is made. */
export async function openedStore(choice: StoreChoice, owner: string, warn: (message: string) => void): Promise<SessionStore> {
  const fault = faultOf(choice)
  if (fault !== undefined) throw new ConfigError([{ path: 'store', message: fault }])
  const store = await storeToRead(choice, warn)
  await store.open({ namespace: 'default', owner, clock: systemClock })
  return store
}

function faultOf(choice: StoreChoice): string | undefined {
  if (choice.kind === 'memory') return 'memory: is gone with its process; name the store that the server has, with --store'
  const path = choice.kind === 'sqlite' ? choice.file : choice.kind === 'file' ? choice.folder : undefined
  return path === undefined || existsSync(path) ? undefined : `there is no store ${nameStore(choice)}; name the store that the server has, with --store`
}

/** Without a connection that listens a process is unknown to others, and claims nothing. Tables that are behind are refused. */
async function storeToRead(choice: StoreChoice, warn: (message: string) => void): Promise<SessionStore> {
  if (choice.kind !== 'postgres') return createStore(choice, warn)
  const { postgresStore } = await import('@bowline/sessions/postgres')
  return postgresStore({ connectionString: choice.connectionString, migrate: false, listen: false, poolSize: 1, onWarning: warn })
}
