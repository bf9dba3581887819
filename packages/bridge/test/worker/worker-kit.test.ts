import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { workerExecutor } from '../../src/index.ts'
import { testBridgeExecutor } from '@bowline/testing/executors'
import { fixtureFile } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'bowline-worker-'))
afterAll(() => rmSync(folder, { recursive: true }))

let count = 0

testBridgeExecutor({
  name: 'worker',
  executor(limits) {
    count += 1
    const file = join(folder, `notes-${count}.txt`)
    // The guard is another process, which these tests do not cover.
    const worker = { id: 'kit', entry: fixtureFile('worker/fixtures/kit-worker'), env: { NOTES_FILE: file }, guard: false }
    return {
      executor: workerExecutor({ workers: [worker], ...limits }),
      notes: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
    }
  },
  runner: { describe, it: it.concurrent },
})
