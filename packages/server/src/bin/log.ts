import { inspectSession, type Inspection, type SessionStore } from '@bowline/sessions'
import { ConfigError } from '../config/config-error.ts'
import { nameStore } from '../config/store-choice.ts'
import type { CommandCall, Outcome } from './command.ts'
import { describeInspection } from './describe-inspection.ts'
import { logFlags } from './flags.ts'
import { openedStore } from './open-store.ts'
import { readConfigAndWord } from './read-config.ts'

/** Prints the log of a session. Reads only: it resumes no run, and does not register this process in a shared database. */
export async function log(call: CommandCall): Promise<Outcome> {
  const { config, word: key, extra } = await readConfigAndWord(call, logFlags, 'SESSION-KEY')
  const store = await openedStore(config.store, 'log', (message) => void call.tell(message))
  let found: Inspection
  try {
    found = (await inspectSession(store, key)) ?? (await refuse(store, key, nameStore(config.store)))
  } finally {
    await store.close()
  }
  await call.print(extra.json === undefined ? describeInspection(found).join('\n') : JSON.stringify(found))
  return 'done'
}

/** Throws an error that suggests similar sessions. */
async function refuse(store: SessionStore, key: string, name: string): Promise<never> {
  const keys = (await store.listSessions({ limit: 1000 })).items.map((session) => session.key)
  const alike = keys.filter((each) => each.endsWith(`:${key}`))
  const shown = (alike.length > 0 ? alike : keys).slice(0, 5)
  const others =
    shown.length === 0
      ? 'it has none'
      : `${alike.length > 0 ? 'did you mean' : 'the newest are'} ${shown.join(', ')}${alike.length > 0 ? '?' : ''}`
  throw new ConfigError([{ path: key, message: `there is no such session in ${name}; ${others}` }])
}
