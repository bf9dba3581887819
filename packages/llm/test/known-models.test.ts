import { describe, expect, it } from 'vitest'
import { knownModels } from '../src/models/known-models.ts'
import { knownInfo } from '../src/models/model-table.ts'
import { checkPrice } from '../src/usage/price.ts'

describe('the built-in models', () => {
  it('L88: are few enough to stay correct, each named once', () => {
    expect(knownModels.length).toBeGreaterThan(0)
    expect(knownModels.length).toBeLessThanOrEqual(40)
    const names = knownModels.map(({ match }) => match)
    expect(new Set(names).size).toBe(names.length)
  })

  it.each(knownModels)('L88: $match has a source page and a date, and its numbers are possible', (row) => {
    expect(row.match).toMatch(/^[a-z][a-z0-9-]*:[^\s*]+\*?$/)
    expect(row.asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/)
    expect(new Date(row.asOf).toISOString().slice(0, 10)).toBe(row.asOf)
    const { protocol, search } = new URL(row.source)
    expect([protocol, search]).toEqual(['https:', ''])
    const { contextWindow = 1, maxOutputTokens = 1 } = row
    for (const tokens of [contextWindow, maxOutputTokens]) {
      expect(Number.isSafeInteger(tokens)).toBe(true)
      expect(tokens).toBeGreaterThan(0)
    }
    expect(maxOutputTokens).toBeLessThanOrEqual(contextWindow)
    if (row.price) checkPrice(row.price)
    expect(row.contextWindow ?? row.maxOutputTokens ?? row.input ?? row.price).toBeDefined()
  })

  it('L88: a dated name is found by its pattern, and a newer model is not taken for the older one', () => {
    const { contextWindow, maxOutputTokens } = knownInfo('anthropic:claude-haiku-4-5-20251001')
    expect([contextWindow, maxOutputTokens]).toEqual([200_000, 64_000])
    expect(knownInfo('anthropic:claude-opus-5')).toEqual({ contextWindow: 1_000_000, maxOutputTokens: 128_000 })
    expect(knownInfo('anthropic:claude-opus-5-5')).toEqual({})
  })
})
