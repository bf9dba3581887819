import { expect, it } from 'vitest'
import { durableCompetitors } from '../src/peers.ts'
import { peersReport, type Cell } from '../src/peers-report.ts'

const [competitor] = durableCompetitors()
const cell = (rest: Partial<Cell>): Cell => {
  if (competitor === undefined) throw new Error('There is no contender')
  return { competitor, workload: 'stored-steps', samples: [], spentMs: 0, ...rest }
}
const rowsWith = (rest: Partial<Cell>) =>
  peersReport({ memory: [], durable: [cell(rest)], rounds: 5, timeoutMs: 120_000 })
    .split('\n')
    .flatMap((line) => (/per step \|/.test(line) ? [line.split(' | ').at(-1)] : []))

it('has a row for each figure of a sample, and none for what the system does not count', () => {
  const samples = [1, 2, 9].map((value) => ({ value, grownBytes: value * 1000, peakBytes: 0 }))
  expect(rowsWith({ samples })).toEqual(['2.00 |', '– |', '2,000 |'])
})

it('says what took too long, and why something is missing', () => {
  expect(rowsWith({ trouble: { kind: 'timeout' } })).toEqual(['> 120 s |', '> 120 s |', '> 120 s |'])
  const trouble = { kind: 'failed', reason: 'Error: broken' } as const
  expect(rowsWith({ trouble })).toEqual(['– |', '– |', '– |'])
  expect(peersReport({ memory: [], durable: [cell({ trouble })], rounds: 5, timeoutMs: 1 })).toContain('– stands for:\n\n- Bowline: Error: broken')
})
