import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LogIterator } from '@bowline/sessions'
import { expect, it } from 'vitest'
import { setup } from '../support.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const readers = 20
const messageBytes = 4 * 1024 * 1024

function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

it('S117: late readers that stall keep nothing of a large message that they received', async () => {
  const { runtime } = setup({ steps: [{ text: 'x'.repeat(messageBytes), chunk: messageBytes }] })
  await runtime.start()
  const session = runtime.session('room:1')
  await (await session.send('go')).result()
  const before = heapBytes()
  const reading: LogIterator[] = []
  for (let index = 0; index < readers; index++) {
    const iterator = session.events()[Symbol.asyncIterator]()
    // The event after the message is requested, as by a stream that is one event ahead of its reader.
    for (let given = false; !given;) given = (await iterator.next()).value?.type === 'turn-end'
    reading.push(iterator)
  }
  expect(heapBytes() - before).toBeLessThan(4 * messageBytes)
  for (const iterator of reading) await iterator.return?.()
  await runtime.stop()
})
