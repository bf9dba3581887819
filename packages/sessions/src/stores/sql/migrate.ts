import { SessionError } from '../../errors.ts'
import type { SqlDialect } from './dialect.ts'
import { migrations } from './schema.ts'
import type { Migration } from './schema.ts'
import type { Database } from './tables.ts'

/** Migrates the tables to the current version, one transaction per step. Refuses a newer version and changes nothing then. */
export async function migrate(db: Database, dialect: SqlDialect, where: string, steps: readonly Migration[] = migrations): Promise<void> {
  const version = await readSchemaVersion(db)
  checkSchemaVersion(version, where, steps.length)
  for (const [index, step] of steps.entries()) {
    if (index < version) continue
    await db.transaction().execute(async (connection) => {
      await step(connection, dialect)
      const value = String(index + 1)
      await connection
        .insertInto('meta')
        .values({ name: 'schema', value })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
        .execute()
    })
  }
}

export function checkSchemaVersion(version: number, where: string, known = migrations.length): void {
  if (version > known) {
    const text = `${where} has schema version ${version}; this version of @bowline/sessions knows ${known}. Update it`
    throw new SessionError('schema-too-new', text)
  }
}

/** Returns the version. 0 if there are no tables yet. */
async function readSchemaVersion(db: Database): Promise<number> {
  const tables = await db.introspection.getTables()
  if (tables.length === 0) return 0
  const row = await db.selectFrom('meta').select('value').where('name', '=', 'schema').executeTakeFirstOrThrow()
  return Number(row.value)
}
