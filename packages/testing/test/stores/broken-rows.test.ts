import { testRowStore, type TestRunner } from '@bowline/testing/stores'
import type { RowStore } from '@bowline/sessions/rows'
import { describe, expect, it } from 'vitest'
import { brokenRows, newPlace, plannedRows, type BrokenRows, type Place } from './broken-rows.ts'

interface KitTest {
  readonly name: string
  readonly body: () => Promise<void>
  readonly timeoutMs: number | undefined
}

/** Collects the tests of the kit for a store. They run here instead of in vitest. */
function testsFor(fault?: BrokenRows['fault']): readonly KitTest[] {
  const tests: KitTest[] = []
  const runner: TestRunner = {
    describe: (_name, body) => body(),
    it: (name, body, timeoutMs) => void tests.push({ name, body, timeoutMs }),
  }
  const places = new WeakMap<RowStore, Place>()
  const placeOf = (rows: RowStore): Place => places.get(rows) ?? newPlace()
  const at = async (place: Place): Promise<RowStore> => {
    const rows = plannedRows(place, fault)
    places.set(rows, place)
    return rows
  }
  testRowStore({
    name: 'planned',
    create: () => at(newPlace()),
    reopen: (rows) => at(placeOf(rows)),
    second: (rows) => at(placeOf(rows)),
    async cut(rows, moment) {
      const place = placeOf(rows)
      place.cutAt = moment
      return async () => {
        const isReached = place.cutAt <= 0
        place.cutAt = 0
        return isReached
      }
    },
    programs: 5,
    runner,
  })
  return tests
}

/** A store that does not answer leaves a test open. Nothing in memory takes a turn of the event loop for long. */
async function isRed({ body }: KitTest): Promise<boolean> {
  const turns = 2_000
  const open = Symbol('open')
  const waited = async (): Promise<symbol> => {
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
    return open
  }
  const outcome: unknown = await Promise.race([body(), waited()]).catch(() => open)
  return outcome === open
}

describe('the kit for rows', () => {
  it('S178: passes a correct store, with a time limit for each test', async () => {
    const tests = testsFor()
    for (const { name, body } of tests) await body().catch((cause: unknown) => Promise.reject(new Error(name, { cause })))
    expect(tests.filter(({ timeoutMs }) => timeoutMs !== 30_000)).toEqual([])
    expect(tests.length).toBeGreaterThan(50)
  })

  it.each(brokenRows)('S178: fails for a store that $name', async ({ fault, found }) => {
    const tests = testsFor(fault).filter(({ name }) => name.startsWith(found))
    expect(tests.length).toBeGreaterThan(0)
    const red = await Promise.all(tests.map(isRed))
    expect(red).toContain(true)
  })
})
