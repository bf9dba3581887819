import { systemClock } from '@bowline/llm'
import { expect, it } from 'vitest'
import type { Row } from '../../src/rows/contract.ts'
import { numberColumns, tables, type TableName } from '../../src/rows/tables.ts'
import { fileRows } from '../../src/stores/file/file-rows.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'

const newFolder = temporaryFolders()
const room = 'room:1'

/** Returns a row of this table that belongs to the session and is in every index. */
function rowOf(table: TableName): Row {
  const names: readonly string[] = [...tables[table].id, ...tables[table].columns]
  const valueOf = (name: string): string | number => (numberColumns.has(name) ? 1 : name === 'session' || name === 'key' ? room : name)
  return { ...Object.fromEntries(names.map((name) => [name, valueOf(name)])), body: table }
}

it('S34: a file that is written anew keeps the rows of its session in all tables', async () => {
  const dir = newFolder()
  const open = async () => {
    const rows = fileRows({ dir, fsync: false })
    await rows.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    return rows
  }
  const before = await open()
  const written = (Object.keys(tables) as TableName[]).filter((table) => table !== 'definition' && table !== 'tombstone').map(rowOf)
  const named = written.map((row) => row.body as TableName)
  await before.write([{ writes: written.map((row) => ({ put: row.body as TableName, row })) }])
  const body = 'x'.repeat(2_000)
  for (let n = 0; n < 2_000; n++) await before.write([{ writes: [{ update: 'session', id: [room], set: { body: `${n} ${body}` } }] }])
  await before.close()
  const after = await open()
  const reads = written.map((row) => {
    const table = row.body as TableName
    return { get: table, ids: [tables[table].id.map((column) => row[column] as string | number)] }
  })
  const found = (await after.read(reads)).rows
  await after.close()
  expect(named.filter((_, at) => found[at]?.length !== 1)).toEqual([])
})
