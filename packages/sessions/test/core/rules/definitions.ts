import assert from 'node:assert/strict'
import { ensure, insertRun, other, patchRun } from './bench.ts'
import type { Topic } from './kit.ts'

const body = { model: 'openai:large', tools: [{ name: 'pay', schema: { type: 'object' } }, null], text: 'ü' }

/** Tests that definitions are stored once, under their hash. */
export const definitions: Topic = ({ it }) => {
  it('S109: a definition is read as it was put, by any session, and stays as it was put first', async (bench, stores) => {
    assert.equal(await bench.store.readDefinition('hash'), undefined)
    const put = { op: 'definition.put', hash: 'hash', body } as const
    await bench.commit([ensure(), insertRun('run-1'), put, patchRun('run-1', { definition: 'hash' })])
    await bench.commit([ensure(other), insertRun('run-2'), { ...put, body: { other: true } }, patchRun('run-2', { definition: 'hash' })], {
      key: other,
    })
    const again = await stores.reopen(bench)
    assert.deepEqual(await again.store.readDefinition('hash'), body)
    assert.deepEqual([(await again.run('run-1')).definition, (await again.run('run-2')).definition], ['hash', 'hash'])
  })

  it('S34: a batch that is refused puts no definition', async (bench) => {
    await bench.commit([ensure()])
    await bench.refused('conflict', [{ op: 'definition.put', hash: 'hash', body }, patchRun('unknown', {})])
    assert.equal(await bench.store.readDefinition('hash'), undefined)
    await bench.refused('missing', [{ op: 'definition.put', hash: 'hash', body }], { key: other })
    assert.equal(await bench.store.readDefinition('hash'), undefined)
  })

  it('S6: a definition belongs to its namespace', async (bench, stores) => {
    await bench.commit([
      ensure(),
      insertRun('run-1'),
      { op: 'definition.put', hash: 'hash', body },
      patchRun('run-1', { definition: 'hash' }),
    ])
    const elsewhere = await stores.reopen(bench, { namespace: 'other' })
    assert.equal(await elsewhere.store.readDefinition('hash'), undefined)
  })
}
