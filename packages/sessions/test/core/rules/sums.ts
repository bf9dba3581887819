import assert from 'node:assert/strict'
import type { Cost } from '@bowline/llm'
import type { SessionPatch } from '@bowline/sessions'
import { deliver, ensure, other, room } from './bench.ts'
import type { Topic } from './kit.ts'

function cost(total: string, currency = 'USD'): Cost {
  return { currency, total, input: total, cacheRead: '0', cacheWrite: '0', output: '0' }
}

function patch(given: SessionPatch) {
  return { op: 'session.patch', patch: given } as const
}

/** Tests that usage and cost are added to a session, and to the sessions above it. */
export const sums: Topic = ({ it }) => {
  it('S146: usage and cost are added to what stands, of its own runs and of its children apart', async (bench, stores) => {
    await bench.commit([ensure(), patch({ usage: { inputTokens: 3, outputTokens: 1 }, cost: cost('0.1') })])
    const first = await bench.session()
    assert.deepEqual([first.usage, first.cost], [{ inputTokens: 3, outputTokens: 1 }, cost('0.1')])
    assert.deepEqual([first.childUsage, 'childCost' in first], [{}, false])
    await bench.commit([
      patch({ usage: { inputTokens: 4 }, cost: cost('0.2') }),
      patch({ childUsage: { inputTokens: 10 }, childCost: cost('0.000000001') }),
      patch({ childUsage: { inputTokens: 20, outputTokens: 2 }, childCost: cost('12345678901234567890') }),
    ])
    const { usage, cost: own, childUsage, childCost } = await (await stores.reopen(bench)).session()
    assert.deepEqual([usage, own], [{ inputTokens: 7, outputTokens: 1 }, cost('0.3')])
    assert.deepEqual([childUsage, childCost], [{ inputTokens: 30, outputTokens: 2 }, cost('12345678901234567890.000000001')])
  })

  it('S146: a cost in another currency is left out, and its usage is not', async (bench) => {
    await bench.commit([ensure(), patch({ cost: cost('1', 'EUR') })])
    await bench.commit([patch({ usage: { inputTokens: 5 }, cost: cost('2', 'USD') }), patch({ cost: cost('3', 'EUR') })])
    const session = await bench.session()
    assert.deepEqual([session.usage, session.cost], [{ inputTokens: 5 }, cost('4', 'EUR')])
  })

  it('S146: what was delivered is added once, also from many sessions at once', async (bench) => {
    await bench.commit([ensure()])
    const batches = Array.from({ length: 8 }, (_, index) => {
      const delivery = deliver(room, [patch({ childUsage: { inputTokens: 1 }, childCost: cost('0.01') })])
      return { key: `${room}~a~${index}`, id: `end-${index}`, deliver: [delivery] }
    })
    await Promise.all(batches.map((batch) => bench.commit([ensure(batch.key)], batch)))
    for (const batch of batches) await bench.commit([ensure(batch.key)], batch)
    const { childUsage, childCost, usage } = await bench.session()
    assert.deepEqual([childUsage, childCost, usage], [{ inputTokens: 8 }, cost('0.08'), {}])
  })

  it('S146: turns and metadata are set, not added, and a patch without them keeps them', async (bench) => {
    await bench.commit([ensure(other, { metadata: { a: 1 } }), patch({ turns: 2 })], { key: other })
    await bench.commit([patch({ turns: 3, metadata: { b: [null] } }), patch({ usage: { inputTokens: 1 } })], { key: other })
    const { turns, metadata, usage } = await bench.session(other)
    assert.deepEqual([turns, metadata, usage], [3, { b: [null] }, { inputTokens: 1 }])
  })
}
