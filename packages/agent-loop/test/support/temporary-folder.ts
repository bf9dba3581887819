import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

export interface TemporaryFolder {
  readonly path: string
  /** Writes a file and its folders. Returns its path. */
  write(name: string, content: string | Uint8Array): Promise<string>
}

/** Creates a folder that is removed when the test has finished. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'bowline-test-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return {
    path,
    async write(name, content) {
      const file = join(path, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
      return file
    },
  }
}
