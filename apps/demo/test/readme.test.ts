import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LLMock } from '@copilotkit/aimock'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'
import { phrases } from '../src/phrases.ts'

const folder = join(import.meta.dirname, '..')

it('the table of the README lists what the offline model understands, in its words and its order', async () => {
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  const rows = [...readme.matchAll(/^\| "(.+)" \| (.+) \|$/gm)].map(([, say, see]) => ({ say, see }))
  expect(rows).toEqual(phrases)
})

it('the example of the root README runs unchanged, against a wire server', { timeout: 60_000 }, async () => {
  const readme = await readFile(join(folder, '../../README.md'), 'utf8')
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const wire = new LLMock({ port: 0 })
  const data = await mkdtemp(join(tmpdir(), 'bowline-readme-'))
  try {
    await wire.start()
    wire.onToolResult('call_1', { content: 'It is sunny in Oslo.' })
    wire.onMessage('What is the weather in Oslo?', {
      toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' }],
    })
    const script = example.replace('.bowline/example.db', join(data, 'example.db'))
    expect(script).not.toBe(example)
    const env = { PATH: process.env['PATH'], OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${wire.url}/v1` }
    // All packages of the example can be found from this folder.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...bundledFlags(), '--input-type=module-typescript', '--eval', script],
      { cwd: folder, env },
    )
    expect(stdout).toBe('It is sunny in Oslo.\ncompleted\n')
  } finally {
    await wire.stop()
    await rm(data, { recursive: true, force: true })
  }
})
