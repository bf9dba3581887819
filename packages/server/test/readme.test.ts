import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..')

it('the example of the README runs', { timeout: 30_000 }, () => {
  const example = /```ts\n(.*?)```/s.exec(readFileSync(join(folder, 'README.md'), 'utf8'))?.[1] ?? ''
  // In this folder the package finds itself by its name.
  const run = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', example], { cwd: folder, encoding: 'utf8' })
  expect(run.stderr).toBe('')
  expect(run.stdout).toBe('true\n')
})
