import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..', '..')

it('A193: the examples of the guide run as they stand, and print what they say', { timeout: 60_000 }, async () => {
  const text = readFileSync(join(folder, '../../docs/guides/memory.md'), 'utf8')
  const [imports = '', ...examples] = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  expect(examples).toHaveLength(3)
  const script = [imports, ...examples.map((code) => `{\n${code}\n}`)].join('\n')
  const { stdout } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '-e', script], { cwd: folder })
  const said = examples.flatMap((code) => [...code.matchAll(/\/\/ → (.*)/g)].map(([, line]) => line))
  expect(stdout.trimEnd().replaceAll(/\{\n\s+/g, '{ ').replaceAll(/,\n\s+/g, ', ').replaceAll(/\n\}/g, ' }').split('\n')).toEqual(said)
})
