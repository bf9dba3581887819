import { expect, it } from 'vitest'
import { bareQueue } from '../src/bare-queue.ts'

it('hands over what waits and what comes later, in order, to its end', async () => {
  const queue = bareQueue<number>()
  const seen: number[] = []
  const reading = (async () => {
    for await (const value of queue) seen.push(value)
  })()
  queue.push(1)
  queue.push(2)
  await Promise.resolve()
  queue.push(3)
  queue.end()
  await reading
  expect(seen).toEqual([1, 2, 3])
})
