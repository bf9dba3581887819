import { describe, expect, it } from 'vitest'
import { markdownTable, measure, median } from '../src/harness.ts'

describe('measure', () => {
  it('interleaves the variants and starts each round with another one', async () => {
    const order: string[] = []
    const variant = (name: string) => ({ name, run: () => void order.push(name) })
    await measure([variant('a'), variant('b'), variant('c')], { rounds: 3, warmups: 0 })
    expect(order.join('')).toBe('abc' + 'bca' + 'cab')
  })

  it('leaves the warm-up out and gives the median of the rounds', async () => {
    let time = 0
    const durations = [1000, 5, 9, 1]
    const run = () => {
      time += durations.shift() ?? 0
    }
    const [result] = await measure([{ name: 'work', run }], { rounds: 3, warmups: 1, now: () => time })
    expect(result).toEqual({ name: 'work', medianMs: 5, samplesMs: [5, 9, 1] })
  })

  it('fails when a variant fails', async () => {
    const run = () => Promise.reject(new Error('broken'))
    await expect(measure([{ name: 'work', run }], { rounds: 1, warmups: 0 })).rejects.toThrow('broken')
  })
})

it('takes the middle of an odd number of values, and the mean of the two middle ones else', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 2, 3])).toBe(2.5)
  expect(() => median([])).toThrow('no median')
})

it('prints a table', () => {
  expect(markdownTable({ head: ['name', 'ms'], rows: [['a', '1']] })).toBe('| name | ms |\n| --- | ---: |\n| a | 1 |')
})
