import { sql } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Connection } from './tables.ts'

/**
 * Adds the parts of the search that both databases share: the group and words of a record, and an index of the newest in each
 * group.
 */
export async function addSearchColumns(
  { schema }: Connection,
  { types }: SqlDialect,
  wordsType: Parameters<ReturnType<Connection['schema']['alterTable']>['addColumn']>[1],
): Promise<void> {
  await schema.alterTable('state').addColumn('search_group', types.text).execute()
  await schema.alterTable('state').addColumn('words', wordsType).execute()
  await schema
    .createIndex('state_search')
    .on('state')
    .columns(['namespace', 'space', 'search_group', 'used_at'])
    .where(sql.ref('search_group'), 'is not', null)
    .execute()
}
