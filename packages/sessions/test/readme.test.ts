import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..')

it('the example of the README runs', { timeout: 60_000 }, () => {
  const example = /```ts\n(.*?)```/s.exec(readFileSync(join(folder, 'README.md'), 'utf8'))?.[1] ?? ''
  const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
  try {
    // In this folder the package finds itself by its name; its data goes elsewhere.
    const script = example.replace('.bowline/data.db', join(data, 'data.db'))
    expect(script).not.toBe(example)
    const run = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', script], { cwd: folder, encoding: 'utf8' })
    expect(run.stderr).toBe('')
    expect(run.stdout).toBe('Hello, and this is on disk.completed\n')
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
})
