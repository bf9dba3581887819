import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rulesInTests } from '../rule-names.mjs'

const docs = join(import.meta.dirname, '../../docs')

/** Rows of the tables that name a proof: the promise, the rules, and the files. */
const rows = readFileSync(join(docs, 'guarantees.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:promise|---)/.test(line))
  .map((line) => {
    const cells = line.split(' | ')
    const proof = cells.at(-1) ?? ''
    return {
      promise: (cells[0] ?? '').replace('| ', ''),
      rules: [...proof.matchAll(/`([A-Z]\d+)`/g)].map(([, rule = '']) => rule),
      files: [...proof.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => join(docs, file)),
    }
  })

describe('the guarantees', () => {
  it('are many', () => expect(rows.length).toBeGreaterThan(20))

  it.each(rows)('D46: “$promise” names tests that exist', ({ rules, files }) => {
    expect(rules.length).toBeGreaterThan(0)
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) {
      expect(existsSync(file), file).toBe(true)
      const held = rulesInTests(readFileSync(file, 'utf8'))
      for (const rule of rules) expect(held, `${rule} in ${file}`).toContain(rule)
    }
  })
})
