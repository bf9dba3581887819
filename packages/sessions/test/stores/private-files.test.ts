import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileStore } from '@bowline/sessions/file'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { setup } from '../support.ts'
import { temporaryFolders } from './temporary-folder.ts'

const temporaryFolder = temporaryFolders()

/** Returns the modes of a folder and of everything in it, by name. */
function rightsIn(folder: string): readonly (readonly [string, string])[] {
  const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return ['', ...inside].map((name) => {
    const { mode } = statSync(join(folder, name))
    return [name, (mode & 0o777).toString(8)]
  })
}

const stores = {
  sqlite: (folder: string) => sqliteStore({ file: join(folder, 'data.db') }),
  file: (folder: string) => fileStore({ dir: folder }),
} as const

describe.skipIf(process.platform === 'win32').each(['sqlite', 'file'] as const)('the files of the %s store', (name) => {
  it('V90: can be read and written by their owner only, whatever the umask', async () => {
    const umask = process.umask(0o000)
    onTestFinished(() => void process.umask(umask))
    const folder = join(temporaryFolder(), 'made', 'data')
    const { runtime } = setup({ steps: [{ text: 'hello' }], store: stores[name](folder) })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('hi')).result()
    const rights = rightsIn(join(folder, '..'))
    await runtime.stop()
    expect(rights.length).toBeGreaterThan(3)
    for (const [file, mode] of rights) {
      const isFolder = statSync(join(folder, '..', file), { throwIfNoEntry: false })?.isDirectory() ?? false
      expect([file, mode]).toEqual([file, isFolder ? '700' : '600'])
    }
  })

  it('V90: keep their permissions when they are opened', async () => {
    const folder = temporaryFolder()
    const write = async (): Promise<void> => {
      const { runtime } = setup({ steps: [{ text: 'hello' }], store: stores[name](folder) })
      await runtime.start()
      await (await runtime.session('room:1').send('hi')).result()
      await runtime.stop()
    }
    await write()
    const shared =
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((file) => file.endsWith(name === 'sqlite' ? '.db' : '.jsonl')) ?? ''
    chmodSync(join(folder, shared), 0o640)
    const { size } = statSync(join(folder, shared))
    await write()
    expect(rightsIn(folder)).toContainEqual([shared, '640'])
    expect(statSync(join(folder, shared)).size).toBeGreaterThan(name === 'sqlite' ? size - 1 : size)
  })
})
