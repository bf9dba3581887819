import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, vi } from 'vitest'
import { sqliteStore } from '../../src/sqlite.ts'
import { testSessionStore } from '../../../testing/src/store-kit.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()

/** Returns the access paths of all statements that a store prepares for the kit, by their texts. */
async function plansOfKit(): Promise<ReadonlyMap<string, readonly string[]>> {
  const plans = new Map<string, readonly string[]>()
  const { prepare } = DatabaseSync.prototype
  vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, text) {
    if (!plans.has(text) && /^(select|with|insert|update|delete)/.test(text) && !text.includes('sqlite_schema')) {
      const steps = prepare.call(this, `explain query plan ${text}`).all()
      plans.set(
        text,
        steps.map(({ detail }) => String(detail)),
      )
    }
    return prepare.call(this, text)
  })
  const bodies: (() => Promise<void>)[] = []
  const files = new WeakMap<object, string>()
  const at = (file: string) => {
    const store = sqliteStore({ file, synchronous: 'normal' })
    files.set(store, file)
    return store
  }
  testSessionStore({
    name: 'planned',
    create: async () => at(join(newFolder(), 'sessions.db')),
    reopen: async (store) => at(files.get(store) ?? ''),
    limitsRecords: false,
    loss: 'owner',
    runner: { describe: (_name, body) => body(), it: (_name, body) => void bodies.push(body) },
  })
  for (const body of bodies) await body()
  vi.restoreAllMocks()
  return plans
}

/** A scan of a whole table, a sort of more than the rows that are returned, or a lookup that finds all rows of the namespace. */
const tooFar = [
  /^SCAN (?!path|found|json_each|CONSTANT ROW)/,
  /TEMP B-TREE/,
  /USING (COVERING )?INDEX sqlite_autoindex_\w+ \(namespace=\?\)/,
]

describe('the plans of the statements', { timeout: 60_000 }, () => {
  it('S54, S47: no statement reads more rows than it needs, or sorts them', async () => {
    const plans = await plansOfKit()
    expect(plans.size).toBeGreaterThan(100)
    const faults = [...plans].flatMap(([text, steps]) => {
      const isSortOfResult = text.startsWith('with recursive')
      const wrong = steps.filter((step) => tooFar.some((pattern) => pattern.test(step)) && !(isSortOfResult && step.includes('ORDER BY')))
      return wrong.length > 0 ? [{ text, wrong }] : []
    })
    expect(faults).toEqual([])
  })
})
