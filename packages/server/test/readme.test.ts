import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))

it('the example of the README runs', { timeout: 30_000 }, () => {
  const readme = readFileSync(join(here, '../README.md'), 'utf8')
  const example = /```ts\n(.*?)```/s.exec(readme)?.[1]
  // Beside the tests, so that it finds the packages that it imports.
  const folder = mkdtempSync(join(here, 'readme-'))
  try {
    writeFileSync(join(folder, 'example.ts'), example ?? '')
    const run = spawnSync(process.execPath, ['example.ts'], { cwd: folder, encoding: 'utf8' })
    expect(run.stderr).toBe('')
    expect(run.stdout).toBe('true\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
