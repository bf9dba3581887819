import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileStore } from '@bowline/sessions/file'
import { memoryStore } from '@bowline/sessions/memory'
import { postgresStore } from '@bowline/postgres'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..')

/** Returns the rows of the first table under a heading of the page, without its head. */
function tableUnder(heading: string): readonly (readonly string[])[] {
  const page = readFileSync(join(folder, '../../docs/guides/stores.md'), 'utf8')
  const [section = ''] = page.split(`\n## ${heading}\n`).at(1)?.split('\n## ') ?? []
  const [table = ''] = section.match(/(?:^\|.*\n)+/gm) ?? []
  return table.trim().split('\n').slice(2).map(cellsOf)
}

function cellsOf(row: string): readonly string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

function numbersIn(cell: string): readonly string[] {
  return [...cell.matchAll(/\[(\d+)\]/g)].map(([, number = '']) => number)
}

/** Returns the rules at the start of test names in a file. Skipped tests do not count. */
function rulesOf(file: string): readonly string[] {
  const path = join(folder, file)
  if (!existsSync(path)) return []
  const titles = readFileSync(path, 'utf8').matchAll(/(?<!\.(?:skip|todo)\(\s*)['"`]([SO]\d+(?:, [SO]\d+)*): /g)
  return [...titles].flatMap(([, rules = '']) => rules.split(', '))
}

describe('the documentation page of the stores', () => {
  const [claims, proofs] = [tableUnder('Compared'), tableUnder('Proofs')]

  it('S181: every claim names the tests that prove it, and these tests exist', () => {
    expect(claims.length).toBeGreaterThanOrEqual(8)
    const cells = claims.flatMap(([, ...stores]) => stores).filter((cell) => cell !== '–')
    expect(cells.length).toBeGreaterThanOrEqual(24)
    expect(cells.filter((cell) => numbersIn(cell).length === 0)).toEqual([])
    const known = proofs.map(([number]) => number)
    expect([...new Set(cells.flatMap(numbersIn))].map(Number).sort((a, b) => a - b)).toEqual(known.map(Number))
    const missing = proofs.filter(([, rule = '', file = '']) => !rulesOf(file.replaceAll('`', '')).includes(rule.replaceAll('`', '')))
    expect(missing).toEqual([])
  })

  it('S181: the page says what the stores report about themselves', () => {
    const stores = [
      memoryStore(),
      fileStore({ dir: 'any' }),
      sqliteStore({ file: 'any.db' }),
      postgresStore({ connectionString: 'postgresql://any/any' }),
    ]
    const said = (row: string) => (claims.find(([name]) => name === row) ?? []).slice(1).map((cell) => cell.replace(/ ?[[(:].*/, ''))
    const lossOf = { none: 'everything', process: 'as the system is set', power: 'nothing' }
    expect(said('power loss loses')).toEqual(stores.map(({ capabilities }) => lossOf[capabilities.durable]))
    expect(said('processes')).toEqual(stores.map(({ capabilities }) => capabilities.processes))
    const limits = stores.map(({ capabilities }) => capabilities.maxRecordBytes)
    expect(said('record limit')).toEqual(limits.map((bytes) => (bytes === Number.MAX_SAFE_INTEGER ? 'none' : `${bytes / 1024 / 1024} MiB`)))
  })
})
