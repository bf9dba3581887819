import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = fileURLToPath(new URL('..', import.meta.url))
const guide = fileURLToPath(new URL('../../../docs/guides/agent-loop.md', import.meta.url))

it('the examples of the guide run as they stand, and print what they say', { timeout: 30_000 }, async () => {
  const text = await readFile(guide, 'utf8')
  const [imports = '', ...examples] = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  expect(examples.length).toBeGreaterThan(5)
  const script = [imports, ...examples.map((code) => `{\n${code}\n}`)].join('\n')
  const { stdout } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '-e', script], { cwd: folder })
  const said = examples.flatMap((code) => [...code.matchAll(/\/\/ → (.*)/g)].map(([, line]) => line))
  expect(stdout.trimEnd().split('\n')).toEqual(said)
})
