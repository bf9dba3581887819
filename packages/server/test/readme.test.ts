import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')

it('the example of the README runs', () => {
  const example = /```ts\n(.*?)```/s.exec(readFileSync(join(folder, 'README.md'), 'utf8'))?.[1] ?? ''
  const run = spawnSync(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', example], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(run.stderr).toBe('')
  expect(run.stdout).toBe('completed\n')
})
