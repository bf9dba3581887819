import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { takeOwnerLock } from '../../src/stores/owner-lock.ts'
import { temporaryFolders } from './temporary-folder.ts'

const newFolder = temporaryFolders()

function place() {
  const file = join(newFolder(), 'lock')
  return { file, pidFile: `${file}.pid`, take: () => takeOwnerLock({ file, what: 'The folder' }) }
}

const refusal = (holder: string) =>
  expect.objectContaining({
    code: 'store-locked',
    message: `The folder is in use by ${holder}; only one process can open it. Close it there first`,
  }) as Error

describe('S167: the lock of an owner', () => {
  it('S167: names its process as long as it is held, in its own files', () => {
    const { file, pidFile, take } = place()
    const lock = take()
    expect(readFileSync(pidFile, 'utf8')).toBe(`${process.pid}\n`)
    if (process.platform !== 'win32') for (const each of [file, pidFile]) expect(statSync(each).mode & 0o777).toBe(0o600)
    lock.release()
    expect([existsSync(file), existsSync(pidFile)]).toEqual([true, false])
  })

  it('S167: is held by one owner, until this owner releases it', () => {
    const { take } = place()
    const first = take()
    for (let tries = 0; tries < 2; tries++) expect(take).toThrow(refusal(`this process (${process.pid})`))
    first.release()
    const second = take()
    expect(take).toThrow(refusal(`this process (${process.pid})`))
    second.release()
  })

  it.each([
    ['another process', '4711\n', 'process 4711'],
    ['nobody that can be read', 'who knows', 'process unknown'],
    ['nobody', undefined, 'process unknown'],
  ])('S167: a refusal names %s, as the holder wrote it', (_who, written, holder) => {
    const { pidFile, take } = place()
    const lock = take()
    if (written === undefined) rmSync(pidFile)
    else writeFileSync(pidFile, written)
    expect(take).toThrow(refusal(holder))
    lock.release()
  })

  it('S167: a file that is no lock is not reported as in use', () => {
    const { file, pidFile, take } = place()
    writeFileSync(file, 'this is no database, and long enough to be seen as none. '.repeat(20))
    expect(take).toThrow(expect.objectContaining({ code: 'store-corrupt', message: expect.stringContaining(file) as string }) as Error)
    expect(existsSync(pidFile)).toBe(false)
    rmSync(file)
    take().release()
  })
})
