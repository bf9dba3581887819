import { execFile } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { withTemporaryFolder } from '../src/temporary-folder.ts'

const source = join(import.meta.dirname, '../src')

/** Returns the file to which the name of a package resolves for a program in this folder. */
async function resolvedIn(cwd: string, project: string): Promise<string> {
  const args = ['--import', join(source, 'use-installed.ts'), '--input-type=module', '-e', "console.log(import.meta.resolve('ours'))"]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env: { ...process.env, INSTALLED_PROJECT: project } })
  return stdout.trim()
}

it('loads what a contender imports from the project, and what others import from their own folder', async () => {
  await withTemporaryFolder(async (folder) => {
    const [project, elsewhere] = ['project', 'elsewhere'].map((name) => join(realpathSync(folder), name)) as [string, string]
    const entries = [project, elsewhere].map((place) => join(place, 'node_modules/ours/index.js'))
    for (const entry of entries) {
      mkdirSync(join(entry, '..'), { recursive: true })
      writeFileSync(entry, '')
    }
    const seen = [await resolvedIn(source, project), await resolvedIn(elsewhere, project)]
    expect(seen).toEqual(entries.map((entry) => pathToFileURL(entry).href))
  })
})
