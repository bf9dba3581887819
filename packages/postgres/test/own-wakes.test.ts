import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Claim } from '@bowline/sessions'
import type { Hint } from '../src/store/hint-format.ts'
import { OwnWakes } from '../src/store/own-wakes.ts'
import { gate } from '../../sessions/test/support.ts'

function watched() {
  const told: string[] = []
  const wakes = new OwnWakes(({ key, seq, wake }: Hint) => void told.push(`${key} ${seq ?? '-'}${wake ? ' wake' : ''}`))
  const commit = (key: string, wake = true): void => wakes.add({ key, seq: 1, wake, deltas: false })
  const claimOf = (...keys: string[]) => keys.map((key) => ({ session: { key } }) as unknown as Claim)
  const hold = () => {
    const answer = gate<readonly Claim[]>()
    return { answer: answer.open, done: wakes.claiming(() => answer.passed) }
  }
  return { told, wakes, commit, claimOf, hold }
}

describe('S187: hints about work that a process has stored', () => {
  it('a hint without work to claim is sent at once, with its number', async () => {
    const { told, commit } = watched()
    commit('a')
    commit('b', false)
    expect(told).toEqual(['b 1'])
    await setImmediate()
    expect(told).toEqual(['b 1', 'a 1 wake'])
  })

  it('if the process claims the work itself, only readers get a hint', async () => {
    const { told, commit, claimOf, hold } = watched()
    commit('a')
    const claim = hold()
    expect(told).toEqual(['a 1'])
    claim.answer(claimOf('a'))
    await claim.done
    await setImmediate()
    expect(told).toEqual(['a 1'])
  })

  it('if the claim did not take the work, a hint is sent', async () => {
    const { told, commit, claimOf, hold } = watched()
    commit('a')
    commit('b')
    const claim = hold()
    claim.answer(claimOf('b', 'c'))
    await claim.done
    expect(told).toEqual(['a 1', 'b 1', 'a - wake'])
  })

  it('a hint waits for the claim under way and one more, and no longer', async () => {
    const { told, commit, claimOf, hold } = watched()
    const first = hold()
    commit('a')
    await setImmediate()
    expect(told).toEqual(['a 1'])
    first.answer(claimOf('x'))
    await first.done
    const second = hold()
    await setImmediate()
    const third = hold()
    second.answer([])
    await second.done
    expect(told).toEqual(['a 1', 'a - wake'])
    third.answer([])
    await third.done
    await setImmediate()
    expect(told).toHaveLength(2)
  })

  it('if the claim fails, or no other claim follows, a hint is sent', async () => {
    const { told, commit, wakes, hold } = watched()
    commit('a')
    await expect(wakes.claiming(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost')
    expect(told).toEqual(['a 1', 'a - wake'])
    const claim = hold()
    commit('b')
    await setImmediate()
    claim.answer([])
    await claim.done
    await setImmediate()
    expect(told.slice(2)).toEqual(['b 1', 'b - wake'])
  })

  it('a hint is sent before the process leaves', async () => {
    const { told, commit, wakes, hold } = watched()
    const claim = hold()
    commit('a')
    await setImmediate()
    commit('b')
    wakes.flush()
    expect(told).toEqual(['a 1', 'b 1 wake', 'a - wake'])
    claim.answer([])
    await claim.done
    await setImmediate()
    expect(told).toHaveLength(3)
  })
})
