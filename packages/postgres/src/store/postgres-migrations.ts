import { SessionError } from '@bowline/sessions/store-parts'
import type { Pool } from './pool.ts'
import type { PostgresClient } from './pool-types.ts'
import { createDeltaTable } from './delta-table.ts'
import { createProcessTable } from './process-table.ts'
import { changing, createTables } from './row-tables.ts'
import { codeOf, isLost, storeError } from './postgres-errors.ts'

/** Class of the advisory locks ("bowl"): keeps them apart from other locks of the database. */
export const lockClass = 0x626f776c

/** Processes with the same major version can work together. Raised by a change that older processes cannot handle. */
const major = 2

const lockTimeoutMs = 5000

/** One step of the schema's history: its statements. Published steps never change. */
export type Migration = readonly string[]

function migrationsOf(schema: string): readonly Migration[] {
  return [
    createTables(schema),
    createStateTable(schema),
    [...createProcessTable(schema), ...createDeltaTable(schema, changing)],
    addSearch(schema),
  ]
}

/** Texts are ordered by their bytes, whatever the collation of the database. */
function createStateTable(schema: string): Migration {
  const text = 'text collate "C"'
  return [
    `create table "${schema}".state (
  namespace ${text} not null, space ${text} not null, id ${text} not null, version bigint not null, value ${text}, used_at bigint not null,
  expires_at bigint, primary key (namespace, space, id)
)`,
    `create index state_live on "${schema}".state (namespace, space, id) where value is not null`,
    `create index state_expiry on "${schema}".state (namespace, expires_at) where value is not null`,
  ]
}

/**
 * Adds the words of state records, and an index of the newest in each group. For a search in one group the server chooses between the
 * group and the words.
 */
function addSearch(schema: string): Migration {
  return [
    `alter table "${schema}".state add column search_group text collate "C"`,
    `alter table "${schema}".state add column words tsvector`,
    `create index state_search on "${schema}".state (namespace, space, search_group, used_at) where search_group is not null`,
    `create index state_words on "${schema}".state using gin (words) where words is not null`,
  ]
}

export interface MigrateSchemaOptions {
  readonly pool: Pool
  readonly schema: string
  /** If false, throws if the tables are older than this version. */
  readonly migrate: boolean
  readonly steps?: readonly Migration[]
}

/** Migrates the tables to the current version, one transaction per step. Refuses a newer major version and changes nothing then. */
export async function migrateSchema({ pool, schema, migrate, steps = migrationsOf(schema) }: MigrateSchemaOptions): Promise<void> {
  const client = await pool.acquire()
  let fault: unknown
  try {
    const version = await readVersion(client, schema)
    checkMajor(version, schema)
    if (version.steps >= steps.length) return
    if (!migrate) throw behind(schema, version.steps, steps.length)
    for (let next = version.steps; next < steps.length; next++) await apply(client, schema, steps)
  } catch (error) {
    fault = error
    if (codeOf(error) === '55P03')
      throw new SessionError(
        'store-locked',
        `Another process has locked the tables of the schema ${schema} for ${lockTimeoutMs} ms, perhaps to migrate them. Start again later.`,
      )
    throw storeError(error, `migrate the schema ${schema}`)
  } finally {
    client.release(isLost(fault))
  }
}

/** Applies one step, unless another process has applied it meanwhile. */
async function apply(client: PostgresClient, schema: string, steps: readonly Migration[]): Promise<void> {
  await client.query({ text: `begin; set local lock_timeout = ${lockTimeoutMs}` })
  try {
    await client.query({ text: `select pg_advisory_xact_lock(${lockClass}, hashtext($1))`, values: [`migrate ${schema}`] })
    const version = await readVersion(client, schema)
    checkMajor(version, schema)
    const step = steps[version.steps]
    if (step) {
      if (!version.hasSchema) await client.query({ text: `create schema "${schema}"` })
      for (const text of step) await client.query({ text })
      const meta = `insert into "${schema}".meta (name, value) values ('schema', $1), ('major', $2)
on conflict (name) do update set value = excluded.value`
      await client.query({ text: meta, values: [String(version.steps + 1), String(major)] })
    }
    await client.query({ text: 'commit' })
  } catch (error) {
    // Ignored: without a connection there is nothing to roll back, and the first failure tells more.
    await client.query({ text: 'rollback' }).catch(() => undefined)
    throw error
  }
}

interface Version {
  readonly hasSchema: boolean
  readonly steps: number
  readonly major: number
}

async function readVersion(client: PostgresClient, schema: string): Promise<Version> {
  const text = `select exists (select 1 from pg_tables where schemaname = $1 and tablename = 'meta') as tables
from pg_namespace where nspname = $1`
  const [place] = (await client.query({ text, values: [schema] })).rows as readonly { readonly tables: boolean }[]
  if (!place?.tables) return { hasSchema: place !== undefined, steps: 0, major }
  const { rows } = await client.query({ text: `select name, value from "${schema}".meta` })
  const valueOf = (name: string): number =>
    Number((rows as readonly { readonly name: string; readonly value: string }[]).find((row) => row.name === name)?.value)
  const version = { hasSchema: true, steps: valueOf('schema'), major: valueOf('major') }
  if (Number.isSafeInteger(version.steps) && Number.isSafeInteger(version.major)) return version
  throw new SessionError('store-corrupt', `The schema ${schema} has tables of another application. Name another schema.`)
}

function checkMajor(version: Version, schema: string): void {
  if (version.major === major) return
  const remedy = version.major > major ? 'Update it.' : 'Start with a new schema.'
  throw new SessionError(
    'schema-too-new',
    `The tables of the schema ${schema} are of version ${version.major}; this version of @bowline/postgres knows ${major}. ${remedy}`,
  )
}

function behind(schema: string, steps: number, known: number): SessionError {
  const what =
    steps === 0 ? `There are no tables in the schema ${schema} yet` : `The tables of the schema ${schema} are at step ${steps} of ${known}`
  return new SessionError('invalid-config', `${what}, and migrate is false: run bowline-server migrate, or set migrate to true.`)
}
