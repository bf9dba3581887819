import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import type { PostgresStore } from '@bowline/postgres'
import { nameStore } from '../config/store-choice.ts'
import type { CommandCall, Outcome } from './command.ts'
import { diagnose, type Problem } from './diagnose.ts'
import { columns } from './help.ts'
import { openedStore } from './open-store.ts'
import { readConfig } from './read-config.ts'

/** Examines the store. Reads only. Opening the store checks its tables or files; a fault in them is reported as an error. */
export async function doctor(call: CommandCall): Promise<Outcome> {
  const { store: choice } = await readConfig(call, [])
  const warnings: string[] = []
  const store = await openedStore(choice, 'doctor', (message) => warnings.push(message))
  try {
    const { counts, problems } = await diagnose(store, systemClock.now())
    const all = [...problems, ...(await problemsOfDatabase(store)), ...warnings.map((message): Problem => ({ what: 'warning', message }))]
    await call.print(
      [
        ...columns([['store', nameStore(choice)], ...counts]),
        ...all.map(({ what, message }) => `${what}: ${message}`),
        all.length === 0 ? 'No problem was found.' : `${all.length} ${all.length === 1 ? 'problem was' : 'problems were'} found.`,
      ].join('\n'),
    )
    return all.length === 0 ? 'done' : 'problems'
  } finally {
    await store.close()
  }
}

async function problemsOfDatabase(store: SessionStore): Promise<readonly Problem[]> {
  if (!isPostgres(store)) return []
  return (await store.check()).warnings.map(({ code, message }) => ({ what: code, message }))
}

function isPostgres(store: SessionStore): store is PostgresStore {
  return store.name === 'postgres'
}
