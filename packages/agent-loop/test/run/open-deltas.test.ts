import { describe, expect, it } from 'vitest'
import { OpenDeltas } from '../../src/run/open-deltas.ts'
import { discarded, textDelta, toolDelta, toolEnd } from '../support/events.ts'

describe('open deltas', () => {
  it('A19: dropping is worth its walk when half of what is held can go', () => {
    const open = new OpenDeltas()
    for (const delta of [textDelta('m'), textDelta('m'), textDelta('m'), toolDelta('a'), toolDelta('b')]) open.add(delta)
    open.end(toolEnd('a', 1))
    expect([open.isWorthDropping, open.isSuperfluous(toolDelta('a')), open.isSuperfluous(toolDelta('b'))]).toEqual([false, true, false])
    open.end(toolEnd('b', 2))
    expect(open.isWorthDropping).toBe(false)
    open.end(discarded('m', 3))
    expect(open.isWorthDropping).toBe(true)
    open.forgetEnded()
    expect(open.isWorthDropping).toBe(false)
    expect([textDelta('m'), toolDelta('a')].map((delta) => open.isSuperfluous(delta))).toEqual([false, false])
  })

  it('A19: what ends twice is counted once', () => {
    const open = new OpenDeltas()
    for (const delta of [textDelta('m'), toolDelta('a'), toolDelta('a'), toolDelta('a')]) open.add(delta)
    open.end(discarded('m', 1))
    open.end(discarded('m', 2))
    expect(open.isWorthDropping).toBe(false)
  })
})
