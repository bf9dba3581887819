import type { PgSession } from './pg-session.ts'

/**
 * A busy pooler may give the process of the first transaction to a third client before the second one asks: with three busy
 * clients in one round of three. Only a pooler in session mode is asked all rounds.
 */
const rounds = 40

/**
 * Returns whether a pooler gives this connection another process of the server for each transaction: then a lock of the
 * session, LISTEN and settings would belong to another client. Must be asked before anything is set or locked.
 */
export async function isPooledByTransaction(session: PgSession, newSession: () => PgSession): Promise<boolean> {
  // Only a server announces the number of its own process.
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

/** A transaction keeps its process. It gets the one that `session` has just used, or `session` has to take another one. */
async function changesBackend(session: PgSession, second: PgSession): Promise<boolean> {
  const before = await backendOf(session)
  try {
    await second.query('begin')
  } catch (error) {
    // A pooler that gives out a process for each statement refuses transactions.
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
