import assert from 'node:assert/strict'
import { systemClock } from '@bowline/llm'
import { memoryRows } from '@bowline/sessions/rows'
import type { Change, Read, Row, RowStore, Value, Write } from '@bowline/sessions/rows'
import { missingPeer } from '@bowline/sessions/store-parts'
import { known, newNamespace, rowsOf, shapes } from './kit.ts'
import type { RowTopic } from './kit.ts'
import type { Conditional, Step } from './programs.ts'

/** Random programs: stores on the same rows, in turns, must give the answers of the rows in memory. */
export const random: RowTopic = ({ it, options: { create, second, reopen, programs = 40, seed = 1 } }) => {
  it('S34: random programs get the answers of the rows in memory, also after reopening', async () => {
    const [{ default: fc }, { everything, steps }] = await Promise.all([import('fast-check'), import('./programs.ts')]).catch(
      missingPeer('testRowStore', 'fast-check'),
    )
    const property = fc.asyncProperty(steps, async (program) => {
      const [model, rows] = [memoryRows(), await create()]
      const stores = [rows, ...(second ? [await second(rows)] : [])]
      const opening = { namespace: newNamespace(), clock: systemClock, owner: 'owner-a' }
      for (const each of [model, ...stores]) await each.open(opening)
      try {
        await compareProgram(program, model, stores)
        await compareReads(everything, model, rows)
        if (!reopen) return
        for (const each of stores.splice(0)) await each.close()
        const again = await reopen(rows)
        await again.open(opening)
        stores.push(again)
        await compareReads(everything, model, again)
      } finally {
        for (const each of stores) await each.close()
      }
    })
    await fc.assert(property, { numRuns: programs, seed })
  })
}

/** Executes the steps on the model and on the stores in turns. All answers must be the same. */
async function compareProgram(program: readonly Step[], model: RowStore, stores: readonly RowStore[]): Promise<void> {
  for (const [turn, step] of program.entries()) {
    const rows = stores[turn % stores.length] ?? model
    if ('reads' in step) {
      await compareReads(step.reads, model, rows)
    } else {
      const changes: Change[] = []
      for (const writes of step.changes) {
        changes.push({ writes: await Promise.all(writes.map((write) => writeOf(write, model))), provisional: writes.length === 1 })
      }
      assert.deepEqual(await rows.write(changes), await model.write(changes))
    }
  }
}

async function compareReads(reads: readonly Read[], model: RowStore, rows: RowStore): Promise<void> {
  const [expected, actual] = [await model.read(reads), await rows.read(reads)]
  for (const [at, read] of reads.entries()) await compareAnswers(read, expected.rows[at] ?? [], actual.rows[at] ?? [], model)
}

/** Compares the answers. The order of rows that are equal in all columns of the index is not defined. */
async function compareAnswers(read: Read, expected: readonly Row[], actual: readonly Row[], model: RowStore): Promise<void> {
  const texts = actual.map(textOf)
  if ('get' in read) return assert.deepEqual(texts.toSorted(), expected.map(textOf).toSorted())
  if ('walk' in read) return assert.deepEqual(texts, expected.map(textOf))
  const columns = shapes[read.scan]?.indexes[read.index] ?? []
  const positionOf = (row: Row): readonly unknown[] => columns.map((column) => row[column.replace('-', '')])
  assert.deepEqual(actual.map(positionOf), expected.map(positionOf))
  const [all = []] = (await model.read([{ ...read, firstOfEach: false, limit: 1000 }])).rows
  const allowed = new Set(all.map(textOf))
  for (const text of texts) assert.ok(allowed.delete(text), `${text} was found twice, or should not have been found`)
}

const textOf = (row: Row): string => JSON.stringify(Object.entries(known(row)).sort(([left], [right]) => (left < right ? -1 : 1)))

/** Returns the write with the values of the stored row, or with others. */
async function writeOf(write: Write | Conditional, model: RowStore): Promise<Write> {
  if (!('compared' in write)) return write
  const { compared, holds, write: given } = write
  const table = 'update' in given ? given.update : given.drop
  const [row] = holds ? await rowsOf(model, { get: table, ids: [given.id] }) : []
  return { ...given, if: Object.fromEntries(compared.map((column) => [column, (row?.[column] as Value | undefined) ?? null])) }
}
