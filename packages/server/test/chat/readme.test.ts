import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../../scripts/programs.ts'
import { bench } from '../support/bench.ts'

const folder = join(import.meta.dirname, '../..')

it('V52: the example of the README for pages that use the AI SDK runs', async () => {
  const example = /```ts chat\n(.*?)```/s.exec(readFileSync(join(folder, 'README.md'), 'utf8'))?.[1] ?? expect.fail('there is no example')
  const it = await bench({ steps: [{ text: 'Hello.' }] })
  const script = `const url = ${JSON.stringify(it.url)}\n${example}`
  const run = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', script], { cwd: folder })
  expect(run).toEqual({ stdout: 'ready 2\n', stderr: '' })
})
