import { expect, it } from 'vitest'
import { limitDownloads } from '../../src/execute/limit-downloads.ts'
import { gate } from '../support/bench.ts'

const address = new URL('https://files.example/a')
const file = { data: new Uint8Array(), mediaType: 'text/plain' }

it('V73, V79: four files are fetched at once, a thousand wait, and one more is refused with a delay', async () => {
  const hold = gate()
  let running = 0
  let most = 0
  const download = limitDownloads(async () => {
    most = Math.max(most, ++running)
    await hold.passed
    running--
    return file
  })
  const leaving = new AbortController()
  const never = new AbortController().signal
  const fetches = Array.from({ length: 1003 }, () => download(address, never, 1))
  const left = download(address, leaving.signal, 1)
  await expect(download(address, never, 1)).rejects.toMatchObject({ code: 'rate-limited', retryAfterMs: 1000 })
  // A waiting caller that aborts makes room for the next.
  leaving.abort()
  await expect(left).rejects.toThrow('The request for the file was aborted')
  fetches.push(download(address, never, 1))
  hold.open()
  expect(await Promise.all(fetches)).toHaveLength(1004)
  expect({ most, running }).toEqual({ most: 4, running: 0 })
})
