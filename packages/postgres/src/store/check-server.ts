import { SessionError } from '@bowline/sessions/store-parts'
import type { Pool } from './pool.ts'
import { storeError } from './postgres-errors.ts'

const leastVersion = 150_000

interface Settings {
  readonly version: string
  readonly encoding: string
  readonly commit: string
  readonly replica: boolean
  readonly pid: number
}

const settings = `select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
  current_setting('synchronous_commit') as commit, pg_is_in_recovery() as replica, pg_backend_pid() as pid`

/** Checks the settings of the server before anything is written. Throws a `SessionError` if it cannot be used. */
export async function checkServer(pool: Pool, onWarning: (message: string) => void): Promise<void> {
  const client = await pool.acquire()
  let found: Settings | undefined
  try {
    found = (await client.query({ text: settings })).rows[0] as Settings | undefined
  } catch (error) {
    client.release(true)
    throw storeError(error, 'ask for the settings of the server')
  }
  client.release()
  if (!found) throw new TypeError('Postgres did not tell its settings.')
  check(found)
  // A pooler reports a process id of its own. Through a pooler, prepared statements may be gone in the next transaction.
  pool.canPrepare = client.processID === found.pid
  if (found.commit === 'off')
    onWarning(
      'Postgres acknowledges commits before they are safe: its synchronous_commit is off. A crash of the server loses the newest ones. Set it to on.',
    )
}

function check({ version, encoding, replica }: Settings): void {
  if (Number(version) < leastVersion) {
    throw new SessionError(
      'invalid-config',
      `Postgres 15 or later is needed; this server has ${Math.floor(Number(version) / 10_000)}. Update the server.`,
    )
  }
  if (encoding !== 'UTF8')
    throw new SessionError('invalid-config', `The database must have the encoding UTF8, but has ${encoding}. Create one with it.`)
  if (replica) throw new SessionError('store-unavailable', 'This Postgres server is a replica and takes no writes: connect to the primary.')
}
