import { describe, expect, it } from 'vitest'
import type { CompactionPolicy, Compactor } from '../../../src/contract/compaction.ts'
import { compactionPolicyOf, nullCompaction } from '../../../src/plugins/compaction/policy.ts'

describe('the option compaction', () => {
  it('has the promised defaults', () => {
    expect(compactionPolicyOf(undefined)).toEqual({
      kind: 'policy',
      policy: { reserveTokens: 16_384, keepRecentTokens: 20_000, maxFailures: 3, minShrink: 0.1, automatic: true },
    })
  })

  it('accepts single fields, and leaves out undefined', () => {
    const given = { keepRecentTokens: 5, reserveTokens: undefined } as unknown as Partial<CompactionPolicy>
    expect(compactionPolicyOf(given)).toMatchObject({ policy: { keepRecentTokens: 5, reserveTokens: 16_384 } })
  })

  it('A141: false and nullCompaction turn it off; another compactor is kept', async () => {
    expect(compactionPolicyOf(false)).toEqual({ kind: 'off' })
    expect(compactionPolicyOf(nullCompaction)).toEqual({ kind: 'off' })
    const compactor: Compactor = { name: 'mine', compact: () => Promise.resolve(undefined) }
    expect(compactionPolicyOf(compactor)).toMatchObject({ kind: 'compactor', compactor })
    expect(await nullCompaction.compact({} as never)).toBeUndefined()
  })

  it.each([
    [{ keep: 1 }, /keep/],
    [{ reserveTokens: -1 }, /reserveTokens/],
    [{ keepRecentTokens: 1.5 }, /keepRecentTokens/],
    [{ maxFailures: 0 }, /maxFailures/],
    [{ minShrink: 2 }, /minShrink/],
    [{ triggerRatio: Number.NaN }, /triggerRatio/],
    [{ facts: [] }, /facts/],
    [{ automatic: 'yes' }, /automatic/],
    [{ instructions: 1 }, /instructions/],
    [{ model: 1 }, /model/],
    [{ name: '', compact: () => undefined }, /name/],
    [{ name: 'x', compact: 1 }, /compact/],
    [true, /compaction/],
  ])('A2: refuses %o with invalid-config that names the field', (option, message) => {
    expect(() => compactionPolicyOf(option as never)).toThrow(
      expect.objectContaining({ code: 'invalid-config', message: expect.stringMatching(message) as string }),
    )
  })
})
