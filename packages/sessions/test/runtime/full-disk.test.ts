import { defineTool } from '@bowline/agent-loop'
import { fileStore } from '@bowline/sessions/file'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { checkLog, gate, setup } from '../support.ts'

const isRoot = process.getuid?.() === 0
const leftOut = isRoot ? '' : ' (left out: only root may mount)'
const newFolder = temporaryFolders()
const mounted: string[] = []

// Registered after the hook of the folders, so it runs before that.
afterEach(() => {
  for (const folder of mounted.splice(0)) spawnSync('umount', [folder])
})

/** Creates a file system of 4 MB. Undefined if this system mounts none. */
function smallDisk(): string | undefined {
  const folder = newFolder()
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
  if (status !== 0) return undefined
  mounted.push(folder)
  return folder
}

const stores = {
  files: (disk: string) => fileStore({ dir: join(disk, 'sessions') }),
  SQLite: (disk: string) => sqliteStore({ file: join(disk, 'data.db') }),
}

describe('a disk that is full when a tool returns', () => {
  it.skipIf(!isRoot).for(['files', 'SQLite'] as const)(
    `S61, S168: the outcome is kept until there is room, and the run goes on (%s)${leftOut}`,
    async (name, context) => {
      const disk = smallDisk()
      if (disk === undefined) return context.skip('this system mounts no tmpfs')
      const ballast = join(disk, 'ballast')
      const full = gate()
      let paid = 0
      const pay = defineTool({
        name: 'pay',
        description: 'Pays once.',
        inputSchema: z.object({}),
        effect: 'once' as const,
        maxOutputCharacters: 400_000,
        execute() {
          expect(() => writeFileSync(ballast, Buffer.alloc(8 * 1024 * 1024))).toThrow('ENOSPC')
          // Longer than what the store has left in its last page.
          return `${++paid}`.padEnd(300_000, '.')
        },
      })
      const told: unknown[] = []
      const { runtime, model } = setup({
        steps: [{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }, { text: 'done' }],
        tools: [pay],
        store: stores[name](disk),
        onUnknownOutcome: 'stop',
        onError(error) {
          told.push(error)
          full.open()
        },
      })
      await runtime.start()
      const session = runtime.session('room:1')
      const run = await session.send('go')
      await full.passed
      rmSync(ballast)
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
      expect([paid, model.calls.length]).toEqual([1, 2])
      expect(told).toMatchObject([{ code: 'store-full' }])
      await checkLog(session)
      await runtime.stop()
    },
  )
})
