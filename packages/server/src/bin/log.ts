import { existsSync } from 'node:fs'
import { systemClock } from '@bowline/llm'
import { inspectSession, type Inspection, type SessionStore } from '@bowline/sessions'
import { ConfigError } from '../config/config-error.ts'
import { nameStore, type StoreChoice } from '../config/store-choice.ts'
import type { CommandCall, Outcome } from './command.ts'
import { createStore } from './create-store.ts'
import { describeInspection } from './describe-inspection.ts'
import { logFlags } from './flags.ts'
import { readConfigAndWord } from './read-config.ts'

/** Reads only: no run is taken up, and a shared database does not know this process. */
export async function log(call: CommandCall): Promise<Outcome> {
  const { config, word: key, extra } = await readConfigAndWord(call, logFlags, 'SESSION-KEY')
  const store = await openedStore(config.store, (message) => void call.tell(message))
  let found: Inspection
  try {
    found = (await inspectSession(store, key)) ?? (await refuse(store, key, nameStore(config.store)))
  } finally {
    await store.close()
  }
  await call.print(extra.json === undefined ? describeInspection(found).join('\n') : JSON.stringify(found))
  return 'done'
}

/** Opens a store that is there: nothing is made. */
async function openedStore(choice: StoreChoice, warn: (message: string) => void): Promise<SessionStore> {
  const fault = faultOf(choice)
  if (fault !== undefined) throw new ConfigError([{ path: 'store', message: fault }])
  const store = await storeToRead(choice, warn)
  await store.open({ namespace: 'default', owner: 'log', clock: systemClock })
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

/** Names sessions that may have been meant. */
async function refuse(store: SessionStore, key: string, name: string): Promise<never> {
  const keys = (await store.listSessions({ limit: 1000 })).items.map((session) => session.key)
  const alike = keys.filter((each) => each.endsWith(`:${key}`))
  const shown = (alike.length > 0 ? alike : keys).slice(0, 5)
  const others = shown.length === 0 ? 'it has none' : `${alike.length > 0 ? 'did you mean' : 'the newest are'} ${shown.join(', ')}${alike.length > 0 ? '?' : ''}`
  throw new ConfigError([{ path: key, message: `there is no such session in ${name}; ${others}` }])
}
