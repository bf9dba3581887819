import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { systemClock } from '@bowline/llm'
import { testRowStore } from '@bowline/testing/stores'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { randomRuns, rounds, testSeed } from '../../../../scripts/test-length.ts'
import type { Change, Read, Row, RowStore, Scan } from '../../src/rows/contract.ts'
import { sqliteRowDialect } from '../../src/rows/sql/dialect.ts'
import { RowStatements } from '../../src/rows/sql/statements.ts'
import { numberColumns, tables } from '../../src/rows/tables.ts'
import { sqliteRows } from '../../src/stores/sqlite/sqlite-rows.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { kitRunner } from './kit-runner.ts'

const newFolder = temporaryFolders()
const newFile = (): string => join(newFolder(), 'rows.db')
const opening = { namespace: 'default', clock: systemClock, owner: 'owner-a' }

async function openedAt(file: string): Promise<RowStore> {
  const rows = sqliteRows({ file })
  await rows.open(opening)
  return rows
}

async function rowsOf(rows: RowStore, read: Read): Promise<readonly Row[]> {
  return (await rows.read([read])).rows[0] ?? []
}

const all = (table: 'session' | 'event', index: string): Read => ({ scan: table, index, equal: [], limit: Infinity })

function put(key: string, body: Row['body'] = ''): Change {
  return { writes: [{ put: 'session', row: { key, body } }] }
}

/** Scans of every index: all of it, and from a position, with each number of values before it. */
function scansOfAll(): readonly Scan[] {
  return Object.entries(tables).flatMap(([scan, { indexes }]) =>
    Object.entries(indexes as Readonly<Record<string, readonly string[]>>).flatMap(([index, marked]) => {
      const values = marked.map((column) => (numberColumns.has(column.replace('-', '')) ? 1 : 'a'))
      return values.flatMap((_, at) => {
        const begin = { scan, index, equal: values.slice(0, at), limit: 10 }
        return [begin, { ...begin, after: values.slice(at) }, { ...begin, after: values.slice(at), reverse: true }]
      })
    }),
  )
}

const files = new WeakMap<RowStore, string>()

async function rowsIn(file: string): Promise<RowStore> {
  const rows = sqliteRows({ file })
  files.set(rows, file)
  return rows
}

const { numRuns: programs, seed } = randomRuns(40)

testRowStore({
  name: 'sqlite',
  create: () => rowsIn(newFile()),
  reopen: (rows) => rowsIn(files.get(rows) ?? ''),
  programs,
  seed,
  runner: kitRunner,
})

describe('rows in SQLite', () => {
  it('changes are stored completely or not at all if the process is killed in the middle of them', async () => {
    const file = newFile()
    const moments = fc.sample(fc.integer({ min: 1, max: 60 }), { numRuns: rounds({ short: 4, long: 200 }), seed: testSeed })
    for (const moment of moments) {
      const child = spawn(process.execPath, [...nodeFlags, program('sessions/test/rows/fixtures/rows-process'), file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = once(child, 'exit')
      let told = 0
      let stored = 0
      for await (const line of createInterface({ input: child.stdout })) {
        stored = Number(line)
        if ((told += 1) === moment) child.kill('SIGKILL')
      }
      await ended
      const rows = await openedAt(file)
      const revision = (await rowsOf(rows, { get: 'session', ids: [['counter']] }))[0]?.['revision']
      expect(revision, `seed ${testSeed}, killed after ${moment}`).toBeGreaterThanOrEqual(stored)
      const numbers = Array.from({ length: Number(revision) }, (_, at) => at + 1)
      expect((await rowsOf(rows, all('event', 'seq'))).map(({ seq }) => seq)).toEqual(numbers)
      const path = await rowsOf(rows, { walk: 'entry', from: ['counter', `${revision as number}`], by: 'parentId', limit: Infinity })
      expect(path.map(({ n }) => n)).toEqual(numbers.toReversed())
      await rows.close()
    }
  })

  it('a change that fails undoes nothing of the others in its transaction', async () => {
    const file = newFile()
    const rows = await openedAt(file)
    const outside = new DatabaseSync(file)
    outside.exec(`create trigger fails before insert on session when new.key = 'fails' begin select raise(abort, 'no'); end`)
    outside.close()
    const fails: Change = { writes: [...put('with it').writes, ...put('fails').writes] }
    const writing = [put('a'), fails, put('b')].map((change) => rows.write([change]))
    expect((await Promise.allSettled(writing)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await rowsOf(rows, all('session', 'key'))).map(({ key }) => key)).toEqual(['a', 'b'])
    await rows.close()
  })

  it('closing stores the changes under way', async () => {
    const file = newFile()
    const rows = await openedAt(file)
    const writing = [1, 2, 3].map((n) => rows.write([put(`key-${n}`)]))
    await rows.close()
    expect(await Promise.all(writing)).toEqual([[true], [true], [true]])
    await expect(rows.read([])).rejects.toMatchObject({ code: 'store-unavailable' })
    const again = await openedAt(file)
    expect(await rowsOf(again, all('session', 'key'))).toHaveLength(3)
    await again.close()
  })

  it('a file of a newer version is refused and stays as it is', async () => {
    const file = newFile()
    await (await openedAt(file)).close()
    const outside = new DatabaseSync(file)
    outside.exec(`update meta set value = '2'`)
    outside.close()
    await expect(openedAt(file)).rejects.toMatchObject({ code: 'schema-too-new' })
  })

  it('each scan seeks in its index, and sorts nothing', async () => {
    const file = newFile()
    await (await openedAt(file)).close()
    const database = new DatabaseSync(file)
    const statements = new RowStatements(sqliteRowDialect, 'default', 1000)
    for (const read of scansOfAll()) {
      for (const { statement, values } of statements.read(read)) {
        const bound = values.map((value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value))
        const plan = database
          .prepare(`explain query plan ${statement.text}`)
          .all(...bound)
          .map(({ detail }) => String(detail))
        expect(plan, JSON.stringify(read)).toEqual([expect.stringMatching(/^SEARCH .* USING INDEX .*\(namespace=\?/)])
        for (const part of ['equal', 'after'] as const)
          if (read[part]?.length) expect(plan[0]).toMatch(part === 'equal' ? /=\? AND .*=\?/ : /[<>](\(|\?)/)
      }
    }
    database.close()
  })
})
