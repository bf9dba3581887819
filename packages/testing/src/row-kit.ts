import assert from 'node:assert/strict'
import { checkRowKit } from './check-options.ts'
import { globalRunner } from './runner.ts'
import { changes } from './row-kit/changes.ts'
import { rowKitOf } from './row-kit/kit.ts'
import type { RowKitOptions, RowTopic } from './row-kit/kit.ts'
import { random } from './row-kit/random.ts'
import { gets, scans } from './row-kit/reads.ts'
import { reopening, several, stores } from './row-kit/stores.ts'

/** Fails if the store says that it can do what the options leave out. */
const capabilities: RowTopic = ({ it, options }) => {
  it('S177, S181: the kit tests all that the store says of itself', async ({ capabilities: { durable, processes, maxRowBytes } }) => {
    assert.equal(durable !== 'none', options.reopen !== undefined, `a store whose rows outlive it needs the option reopen: ${durable}`)
    if (processes === 'many') assert.ok(options.second, 'a store for many processes needs the option second')
    assert.ok(maxRowBytes > 0)
  })
}

/** Registers the tests that every row store must pass. A session store over rows that pass them is right. */
export function testRowStore(options: RowKitOptions): void {
  checkRowKit('testRowStore.options', options)
  const runner = options.runner ?? globalRunner()
  const kit = rowKitOf(options, runner)
  const topics = {
    capabilities,
    changes,
    gets,
    scans,
    stores,
    ...(options.second && { several }),
    ...(options.reopen && { reopening }),
    random,
  }
  runner.describe(`row store: ${options.name}`, () => {
    for (const [title, topic] of Object.entries(topics)) runner.describe(title, () => topic(kit))
  })
}
