import type { PgSession } from './pg-session.ts'

/**
 * Number of rounds. A busy pooler may give the process of the first connection to a third client before the second one asks, so
 * that a round shows no change: with three busy clients, one round in three. Only a pooler in session mode takes all rounds.
 */
const rounds = 40

/**
 * Returns true if a pooler may run each transaction in another process of the server. Session locks, LISTEN and settings would then
 * belong to another client. Must be called before anything is set or locked.
 */
export async function isPooledByTransaction(session: PgSession, newSession: () => PgSession): Promise<boolean> {
  // Only a server announces the id of its own process.
  if ((await backendOf(session)) === session.announcedPid) return false
  const second = newSession()
  try {
    await second.connect()
    for (let round = 1; round <= rounds; round++) if (await changesBackend(session, second)) return true
    return false
  } finally {
    await second.end()
  }
}

/**
 * Returns true if `second` gets the process that `session` used, or `session` gets another one meanwhile. A transaction keeps its
 * process.
 */
async function changesBackend(session: PgSession, second: PgSession): Promise<boolean> {
  const before = await backendOf(session)
  try {
    await second.query('begin')
  } catch (error) {
    // A pooler in statement mode refuses transactions.
    if (second.isOpen) return true
    throw error
  }
  const isShared = (await backendOf(second)) === before
  const changes = isShared || (await backendOf(session)) !== before
  await second.query('rollback')
  return changes
}

async function backendOf(session: PgSession): Promise<number | undefined> {
  const [row] = await session.query<{ readonly pid: number }>('select pg_backend_pid() as pid')
  return row?.pid
}
