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
const steps = [{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }, { text: 'Sunny.', chunk: 2 }]
const openai = () => scriptedModel(steps)`
  const script = example.replace(/import \{ openai \}.*\n/, `${scripted}\n`)
  expect(script).not.toBe(example)
  const { stdout } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '-e', script], {
    cwd: folder,
  })
  expect(stdout).toBe('Sunny.\ncompleted: 30 tokens\n')
})
