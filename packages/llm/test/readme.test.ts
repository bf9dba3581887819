import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = fileURLToPath(new URL('..', import.meta.url))

it('the example of the README runs unchanged, with a scripted model in place of the provider', async () => {
  const readme = await readFile(`${folder}/README.md`, 'utf8')
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const scripted = `import { scriptedModel } from '@bowline/llm/testing'
const openai = () => scriptedModel([{ text: 'Because of scattering.', chunk: 5 }])`
  const script = example.replace(/import \{ openai \}.*\n/, `${scripted}\n`)
  expect(script).not.toBe(example)
  const args = [...bundledFlags(), '--input-type=module-typescript', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  expect(stdout).toBe('Because of scattering.\nstop: 15 tokens, 0.0000625 USD\n')
})
