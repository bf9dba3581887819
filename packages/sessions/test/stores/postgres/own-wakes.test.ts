import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Claim } from '../../../src/contract/session-store.ts'
import type { Hint } from '../../../src/stores/postgres/hint-format.ts'
import { OwnWakes } from '../../../src/stores/postgres/own-wakes.ts'
import { gate } from '../../support.ts'

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

describe('S187: work that a process tells the others of', () => {
  it('is told at once where nothing is claimed, with its number', async () => {
    const { told, commit } = watched()
    commit('a')
    commit('b', false)
    expect(told).toEqual(['b 1'])
    await setImmediate()
    expect(told).toEqual(['b 1', 'a 1 wake'])
  })

  it('is not told if the process claims it itself; readers are told', async () => {
    const { told, commit, claimOf, hold } = watched()
    commit('a')
    const claim = hold()
    expect(told).toEqual(['a 1'])
    claim.answer(claimOf('a'))
    await claim.done
    await setImmediate()
    expect(told).toEqual(['a 1'])
  })

  it('is told when the claim has not taken it', async () => {
    const { told, commit, claimOf, hold } = watched()
    commit('a')
    commit('b')
    const claim = hold()
    claim.answer(claimOf('b', 'c'))
    await claim.done
    expect(told).toEqual(['a 1', 'b 1', 'a - wake'])
  })

  it('waits for the claim under way and one more, and no longer', async () => {
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

  it('is told when the claim fails, and when no further claim follows', async () => {
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

  it('is told before the process leaves', async () => {
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
