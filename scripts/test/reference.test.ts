import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pages } from '../reference.ts'

const root = join(import.meta.dirname, '../..')

describe('pages generated from types', () => {
  it.each(Object.entries(pages))('%s is up to date (else: node scripts/reference.ts)', (file, make) => {
    const made = make()
    expect(made.length).toBeGreaterThan(5000)
    expect(readFileSync(join(root, file), 'utf8')).toBe(made)
  })
})
