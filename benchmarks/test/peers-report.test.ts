import { expect, it } from 'vitest'
import { competitors, durableCompetitors, reference, type Competitor } from '../src/peers.ts'
import { peersReport, type Cell } from '../src/peers-report.ts'

const [durable] = durableCompetitors()
const [own] = competitors()
const pi = competitors().find(({ name }) => name === reference)

function cell(competitor: Competitor | undefined, rest: Partial<Cell>): Cell {
  if (competitor === undefined) throw new Error('There is no contender')
  return { competitor, workload: 'stored-steps', samples: [], spentMs: 0, ...rest }
}

const rowsWith = (rest: Partial<Cell>) =>
  peersReport({ memory: [], postgres: [], durable: [cell(durable, rest)], rounds: 5, timeoutMs: 120_000 })
    .split('\n')
    .flatMap((line) => (/per step \|/.test(line) ? [line.split(' | ').at(-1)] : []))

const memoryLines = (...memory: readonly Cell[]) => peersReport({ memory, durable: [], postgres: [], rounds: 5, timeoutMs: 1 }).split('\n')
const samplesOf = (...values: readonly number[]) => values.map((value) => ({ value, peakBytes: 0 }))

it('has a row for each figure of a sample, and none for what the system does not count', () => {
  const samples = [1, 2, 9].map((value) => ({ value, grownBytes: value * 1000, peakBytes: 0 }))
  expect(rowsWith({ samples })).toEqual(['2.00 |', '– |', '2,000 |'])
})

it('says what took too long, and why something is missing', () => {
  expect(rowsWith({ trouble: { kind: 'timeout' } })).toEqual(['> 120 s |', '> 120 s |', '> 120 s |'])
  const trouble = { kind: 'failed', reason: 'Error: broken' } as const
  expect(rowsWith({ trouble })).toEqual(['– |', '– |', '– |'])
  const report = peersReport({ memory: [], postgres: [], durable: [cell(durable, { trouble })], rounds: 5, timeoutMs: 1 })
  expect(report).toContain('Left out (–):\n\n- Bowline, One turn of 200 steps with a tool: Error: broken')
})

it('leaves a peer out by name that cannot do the work', () => {
  const trouble = { kind: 'unable', reason: 'it has one reader' } as const
  const lines = memoryLines(cell(own, { workload: 'readers', samples: samplesOf(3) }), cell(pi, { workload: 'readers', trouble }))
  expect(lines.find((line) => line.startsWith('| Ten readers'))).toMatch(/× \| 3.00 \| {2}\| – \|$/)
  expect(lines).toContain('- pi 0.73, Ten readers of a message of 10,000 deltas against one: it has one reader')
})

it('compares ours with pi 0.73 in every row that both have', () => {
  const lines = memoryLines(
    cell(own, { workload: 'text', samples: samplesOf(1, 3, 4) }),
    cell(pi, { workload: 'text', samples: samplesOf(2, 2, 9) }),
  )
  expect(lines).toContain('| work | Bowline, function | × pi 0.73 | pi 0.73 |')
  expect(lines).toContain('| One message of 80,000 text deltas, µs per delta | 3.00 | 1.50 | 2.00 |')
})

it('compares with nothing where pi 0.73 has no figure', () => {
  const trouble = { kind: 'timeout' } as const
  const lines = memoryLines(cell(own, { workload: 'text', samples: samplesOf(3) }), cell(pi, { workload: 'text', trouble }))
  expect(lines).toContain('| One message of 80,000 text deltas, µs per delta | 3.00 |  | > 0.001 s |')
})
