import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { workerExecutor } from '../../src/index.ts'
import { testBridgeExecutor } from '../../src/testing/index.ts'

const entry = join(import.meta.dirname, 'fixtures', 'kit-worker.ts')

testBridgeExecutor({
  name: 'worker',
  async executor(limits) {
    const folder = await mkdtemp(join(tmpdir(), 'bowline-worker-'))
    const file = join(folder, 'notes.txt')
    return {
      executor: workerExecutor({ workers: [{ id: 'kit', entry, env: { NOTES_FILE: file } }], ...limits }),
      notes: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
      end: () => rm(folder, { recursive: true }),
    }
  },
  runner: { describe, it },
})
