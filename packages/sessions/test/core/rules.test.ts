import { DatabaseSync } from 'node:sqlite'
import { memoryStateStore, type SessionStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { coreStore } from '../../src/core/core-store.ts'
import { memoryRows, type MemoryRows } from '../../src/rows/memory-rows.ts'
import type { RowStore } from '../../src/rows/contract.ts'
import { sqliteRowDialect } from '../../src/rows/sql/dialect.ts'
import { RowStatements } from '../../src/rows/sql/statements.ts'
import { createSchema } from '../../src/stores/sqlite/schema.ts'
import { branches } from './rules/branches.ts'
import { children } from './rules/children.ts'
import { claims } from './rules/claims.ts'
import { commits } from './rules/commits.ts'
import { deaths } from './rules/deaths.ts'
import { definitions } from './rules/definitions.ts'
import { deliveries } from './rules/deliveries.ts'
import { expectations } from './rules/expectations.ts'
import { hints } from './rules/hints.ts'
import { inbox } from './rules/inbox.ts'
import { inputs } from './rules/inputs.ts'
import { keys } from './rules/keys.ts'
import { testTopics, type StorePlace } from './rules/kit.ts'
import { lanes } from './rules/lanes.ts'
import { ledger } from './rules/ledger.ts'
import { listing } from './rules/listing.ts'
import { lives } from './rules/lives.ts'
import { log } from './rules/log.ts'
import { notices } from './rules/notices.ts'
import { pruning } from './rules/pruning.ts'
import { reading } from './rules/reading.ts'
import { reopening } from './rules/reopening.ts'
import { runs } from './rules/runs.ts'
import { several } from './rules/several.ts'
import { sums } from './rules/sums.ts'
import { time } from './rules/time.ts'
import { transcript } from './rules/transcript.ts'

const statements = new RowStatements(sqliteRowDialect, 'default', Number.MAX_SAFE_INTEGER)
const texts = new Set<string>()
const memories = new WeakMap<SessionStore, MemoryRows>()

/** Notes the SQL of all that the rules read and write. */
function noted(rows: MemoryRows): MemoryRows {
  const { read, write } = rows
  return Object.assign(rows, {
    read(reads) {
      for (const each of reads) for (const { statement } of statements.read(each)) texts.add(statement.text)
      return read(reads)
    },
    write(changes) {
      for (const { writes } of changes) for (const each of writes) texts.add(statements.write(each).statement.text)
      return write(changes)
    },
  } satisfies Partial<RowStore>)
}

function placeOf(loss: 'lease' | 'owner'): StorePlace {
  const storeOver = async (rows: MemoryRows): Promise<SessionStore> => {
    const store = coreStore(noted(rows), { loss, state: memoryStateStore() })
    memories.set(store, rows)
    return store
  }
  const another = (store: SessionStore): Promise<SessionStore> => storeOver((memories.get(store) ?? memoryRows()).second())
  return { create: () => storeOver(memoryRows()), reopen: another, second: another, loss }
}

const rules = {
  commits,
  expectations,
  keys,
  transcript,
  log,
  runs,
  ledger,
  inputs,
  claims,
  reading,
  deliveries,
  lanes,
  lives,
  deaths,
  time,
  pruning,
  notices,
  inbox,
  branches,
  children,
  definitions,
  listing,
  sums,
  hints,
  reopening,
  several,
}

describe('the rules', () => {
  testTopics(placeOf('lease'), rules)
  describe('of a store for one process', () => testTopics(placeOf('owner'), { claims, lanes }))
})

/** A scan of a whole table, a sort of more than the rows that are returned, or a lookup that finds all rows of the namespace. */
const tooFar = [
  /^SCAN (?!path|found|json_each|CONSTANT ROW)/,
  /TEMP B-TREE/,
  /USING (COVERING )?INDEX sqlite_autoindex_\w+ \(namespace=\?\)/,
]

it('S54, S47: no statement of the rules reads more rows than it needs, or sorts them', () => {
  expect(texts.size).toBeGreaterThan(100)
  const database = new DatabaseSync(':memory:')
  createSchema(database)
  const faults = [...texts].flatMap((text) => {
    const steps = database.prepare(`explain query plan ${text}`).all()
    const isSortOfResult = text.startsWith('with recursive')
    const wrong = steps
      .map(({ detail }) => String(detail))
      .filter((step) => tooFar.some((pattern) => pattern.test(step)) && !(isSortOfResult && step.includes('ORDER BY')))
    return wrong.length > 0 ? [{ text, wrong }] : []
  })
  database.close()
  expect(faults).toEqual([])
})
