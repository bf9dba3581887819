import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import type { ClaimRequest } from '../../src/contract/session-store.ts'
import { aroundStore } from '../../src/testing/around-store.ts'
import { setup } from '../support.ts'

it('S64, S183: a session that a claim passed over is met by the next one, whichever session that one is for', async () => {
  const store = aroundStore(memoryStore(), async (operation, args, go) => {
    const isNamed = operation === 'claim' && (args[0] as ClaimRequest).keys?.includes('room:1') === true
    // Its row is kept by a write that is refused in the end: no hint tells of that.
    return isNamed ? [] : go()
  })
  const clock = manualClock()
  const { runtime } = setup({ steps: [{ text: 'one' }, { text: 'two' }], store, clock })
  await runtime.start()
  const first = await runtime.session('room:1').send('go')
  await (await runtime.session('room:2').send('go')).result()
  for (let turn = 0; turn < 20; turn++) await clock.advance(0)
  expect(await first.status()).toBe('completed')
  await runtime.stop()
})
