import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createMemories } from '@bowline/sessions'
import { sqliteStateStore } from '@bowline/sessions/sqlite'
import { expect, it } from 'vitest'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { alice, bob } from './support.ts'

const newFolder = temporaryFolders()

/** Returns every value of every table, those of the index included. */
function valuesIn(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true })
  const tables = database.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'").all()
  const rows = tables.flatMap(({ name }) => database.prepare(`select * from "${String(name)}"`).all())
  database.close()
  return rows
    .flatMap((row) =>
      Object.values(row).map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value))),
    )
    .join('\n')
}

it('A194: a SQLite file keeps nothing of a removed note or of a forgotten scope', async () => {
  const file = join(newFolder(), 'data.db')
  const store = sqliteStateStore({ file })
  const memories = createMemories({ store })
  for (const [key, text] of [
    ['pet', 'Has a zebra.'],
    ['city', 'Lives in Timbuktu.'],
  ] as const)
    await memories.save(alice, { key, text, tags: ['private'] })
  await memories.save(bob, { key: 'car', text: 'Drives a lorry.' })
  await memories.remove(alice, 'pet')
  expect(valuesIn(file)).toMatch(/timbuktu/)
  expect(valuesIn(file)).not.toMatch(/zebra|pet/i)
  await memories.forget(alice)
  const left = valuesIn(file)
  expect(left).toMatch(/lorry/)
  expect(left).not.toMatch(/alice|timbuktu|city|private/i)
  await store.close()
})

it('A195: a search on SQLite reads the words of one scope, and the newest notes come from an index', async () => {
  const file = join(newFolder(), 'data.db')
  const store = sqliteStateStore({ file })
  await store.open()
  await store.close()
  const database = new DatabaseSync(file)
  const plan = (where: string): readonly string[] =>
    database
      .prepare(
        `explain query plan select id from state where namespace = 'default' and space = 'memory' and search_group = 'g' and value is not null and (expires_at is null or expires_at > 5) ${where} order by used_at desc limit 3`,
      )
      .all()
      .map((step) => String(step['detail']))
  expect(plan('')).toEqual(['SEARCH state USING INDEX state_search (namespace=? AND space=? AND search_group=?)'])
  const searched = plan(
    'and exists (select 1 from state_row as indexed where indexed.namespace = state.namespace and indexed.space = state.space and indexed.id = state.id and indexed.row in (select rowid from state_words where state_words match \'place : "67" AND words : ("x" *)\'))',
  )
  expect(searched.filter((step) => step.startsWith('SCAN'))).toEqual([expect.stringMatching(/^SCAN state_words VIRTUAL TABLE INDEX \d+:M/)])
  database.close()
})
