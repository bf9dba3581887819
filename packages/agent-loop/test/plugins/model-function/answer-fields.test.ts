import { expect, it } from 'vitest'
import { wrongField } from '../../../src/plugins/model-function/function-answers.ts'

const cost = { currency: 'USD', total: '0.5', input: '0.1', cacheRead: '0', cacheWrite: '0', output: '0.4' }
const good = {
  usage: { inputTokens: 0, outputTokens: 5, raw: { any: 'thing' } },
  cost,
  paused: true,
  at: 0,
  timing: { totalMs: 1 },
  provider: 'p',
  modelId: 'm',
  rawStopReason: 'end',
  abortReason: 'left',
}

it('A8: accepts each valid field of a given answer, and each field may be absent', () => {
  expect(wrongField(good)).toBeUndefined()
  for (const name of Object.keys(good)) expect(wrongField({ ...good, [name]: undefined })).toBeUndefined()
})

it.each([
  [
    'usage',
    [5, 'x', null, [], { inputTokens: -1 }, { inputTokens: 1.5 }, { inputTokens: 2 ** 60 }, { outputTokens: '5' }, { outputTokens: null }],
    'has an invalid usage',
  ],
  [
    'cost',
    [
      5,
      null,
      {},
      { ...cost, currency: 5 },
      { ...cost, total: 0.5 },
      { ...cost, cacheRead: undefined },
      { ...cost, input: '1e3' },
      { ...cost, output: '.5' },
    ],
    'has an invalid cost',
  ],
  ['paused', [false, 'yes', 1, null], 'has a paused other than true'],
  ['at', ['now', null, new Date(0)], 'has an at that is not a number'],
  ['timing', [5, null, 'fast', [1]], 'has an invalid timing'],
  ['provider', [5, null, {}], 'has a provider that is not a text'],
  ['modelId', [5], 'has a modelId that is not a text'],
  ['rawStopReason', [true], 'has a rawStopReason that is not a text'],
  ['abortReason', [{}], 'has a abortReason that is not a text'],
])('A8: the error names a wrong %s', (name, values, said) => {
  for (const value of values) expect(wrongField({ ...good, [name]: value }), JSON.stringify(value)).toBe(said)
})
