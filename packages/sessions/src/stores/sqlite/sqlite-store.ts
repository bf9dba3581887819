import { mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import { SessionError } from '../../errors.ts'
import type { SessionStore, StoreOpenOptions } from '../../store/contract.ts'
import { checkJson, copyJson } from '../json.ts'
import { takeOwnerLock } from '../owner-lock.ts'
import { claimRuns, renewLeases } from '../sql/claim.ts'
import { commitBatch } from '../sql/commit.ts'
import { migrate } from '../sql/migrate.ts'
import { listRuns, listSessions, readApproval, readCall, readCalls, readInbox, readRun, readSession } from '../sql/read.ts'
import { readEvents, readPath } from '../sql/read-log.ts'
import type { Database, Tables } from '../sql/tables.ts'
import { checkContent, checkHeader } from './check-file.ts'
import { NodeSqliteDialect } from './node-sqlite-dialect.ts'
import { openFile } from './open-file.ts'
import type { ConnectionSettings } from './open-file.ts'
import { sqliteCode, sqliteCodes, storeError } from './sqlite-errors.ts'

export interface SqliteStoreOptions {
  /** Made when it is missing, with its directory. */
  readonly file: string
  /** `full` (the default) survives the loss of power; `normal` the death of the process only. */
  readonly synchronous?: 'full' | 'normal'
  /** How long to wait while a tool outside of this package holds the file. Default 5,000. */
  readonly busyTimeoutMs?: number
}

const maxRecordBytes = 16 * 1024 * 1024

/** Keeps sessions in one SQLite file that this process uses alone. */
export function sqliteStore(options: SqliteStoreOptions): SessionStore {
  const { synchronous = 'full', busyTimeoutMs = 5000 } = options
  if (options.file === '' || options.file === ':memory:') {
    throw new SessionError('invalid-config', 'sqliteStore needs the name of a file; memoryStore() keeps sessions in memory')
  }
  const running = new Set<Promise<unknown>>()
  let opened: OpenDatabase | undefined

  /** Every call to the database: only while it is open, and with errors that name the file. */
  function use<T>(work: (open: OpenDatabase) => Promise<T>): Promise<T> {
    const open = opened
    if (!open) return Promise.reject(new SessionError('store-unavailable', `The database ${options.file} is not open`))
    const result = work(open).catch((error: unknown) => {
      throw storeError(error, open.file)
    })
    running.add(result)
    return result.finally(() => running.delete(result))
  }

  return {
    name: 'sqlite',
    capabilities: { durable: synchronous === 'full' ? 'power' : 'process', processes: 'one', maxRecordBytes },

    async open(openOptions) {
      if (opened) throw new SessionError('store-locked', `The database ${opened.file} is open in this store already`)
      try {
        opened = await openDatabase(options.file, openOptions, { synchronous, busyTimeoutMs })
      } catch (error) {
        throw storeError(error, options.file)
      }
    },
    async close() {
      const closing = opened
      opened = undefined
      if (!closing) return
      await Promise.allSettled(running)
      closing.close()
    },
    async commit(batch) {
      checkJson(batch, 'batch')
      const copy = copyJson(batch)
      return use(({ db, namespace, clock }) => {
        const violatesConstraint = (error: unknown): boolean => sqliteCode(error) === sqliteCodes.constraint
        return commitBatch(db, copy, { namespace, now: clock.now(), maxRecordBytes, violatesConstraint })
      })
    },
    claim: (request) => use(({ db, namespace, clock }) => claimRuns(db, request, { namespace, now: clock.now() })),
    renew: (leases, leaseMs) =>
      use(({ db, namespace, clock }) => renewLeases(db, leases, clock.now() + leaseMs, namespace)),
    readSession: (key) => use((open) => readSession(open, key)),
    readPath: (key, path = {}) => use((open) => readPath(open, key, path)),
    readEvents: (key, after, limit) => use((open) => readEvents(open, key, after, limit)),
    readRun: (runId) => use((open) => readRun(open, runId)),
    readCalls: (runId, step) => use((open) => readCalls(open, runId, step)),
    readCall: (key, toolCallId) => use((open) => readCall(open, key, toolCallId)),
    readApproval: (key, approvalId) => use((open) => readApproval(open, key, approvalId)),
    readInbox: (key, kinds) => use((open) => readInbox(open, key, kinds)),
    listSessions: (query) => use((open) => listSessions(open, query)),
    listRuns: (key, query = {}) => use((open) => listRuns(open, key, query)),
  }
}

interface OpenDatabase extends StoreOpenOptions {
  readonly db: Database
  /** Without links, so that two names of one file have one lock. */
  readonly file: string
  close(): void
}

async function openDatabase(
  name: string,
  options: StoreOpenOptions,
  settings: ConnectionSettings,
): Promise<OpenDatabase> {
  const file = resolveFile(name)
  checkHeader(file)
  const lock = takeOwnerLock({ file: `${file}-owner`, what: `The database ${file}` })
  let database: DatabaseSync | undefined
  const close = (): void => {
    if (database?.isOpen) database.close()
    lock.release()
  }
  try {
    // Once more under the lock: another process may have made the file in between.
    const isNew = checkHeader(file) === 'new'
    if (!isNew) checkContent(file)
    database = openFile(file, isNew, settings)
    const db = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) })
    await migrate(db, `The database ${file}`)
    return { ...options, db, file, close }
  } catch (error) {
    close()
    throw error
  }
}

function resolveFile(name: string): string {
  mkdirSync(dirname(name), { recursive: true })
  const directory = realpathSync(dirname(name))
  const file = join(directory, basename(name))
  try {
    return realpathSync(file)
  } catch {
    // Not there yet.
    return file
  }
}
