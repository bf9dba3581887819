import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { readPageToken } from '../src/server/page-token.ts'
import { makeDataFolder, removeDataFolder } from './demo-process.ts'

/** Posts when it starts to read, and then the first content of the file. */
const observer = `
  const { readFileSync } = require('node:fs')
  const { parentPort, workerData } = require('node:worker_threads')
  parentPort.postMessage('looks')
  for (let content; content === undefined; ) {
    try {
      content = readFileSync(workerData, 'utf8')
      parentPort.postMessage(content)
    } catch {}
  }`

it('D5: processes that start at once on one data folder have one token, which is never read half-written', async () => {
  for (let round = 0; round < 5; round++) {
    const folder = await makeDataFolder()
    try {
      const worker = new Worker(observer, { eval: true, workerData: join(folder, 'page-token') })
      await once(worker, 'message')
      const seen = once(worker, 'message')
      const tokens = await Promise.all(Array.from({ length: 4 }, () => readPageToken(folder)))
      expect(tokens[0]).toMatch(/^[\w-]{43}$/)
      expect([...tokens, ...(await seen)]).toEqual(Array(5).fill(tokens[0]))
      expect(await readPageToken(folder)).toBe(tokens[0])
      expect(await readdir(folder)).toEqual(['page-token'])
    } finally {
      await removeDataFolder(folder)
    }
  }
})
