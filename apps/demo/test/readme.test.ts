import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { LLMock } from '@copilotkit/aimock'
import { expect, it } from 'vitest'

const here = fileURLToPath(new URL('.', import.meta.url))

it('the example of the root README runs as it stands, against a wire server', { timeout: 60_000 }, async () => {
  const readme = await readFile(join(here, '../../../README.md'), 'utf8')
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const wire = new LLMock({ port: 0 })
  // Beside the tests, so that it finds the packages that it imports.
  const folder = await mkdtemp(join(here, 'readme-'))
  try {
    await wire.start()
    wire.onToolResult('call_1', { content: 'It is sunny in Oslo.' })
    wire.onMessage('What is the weather in Oslo?', {
      toolCalls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' }],
    })
    await writeFile(join(folder, 'example.ts'), example)
    const env = { PATH: process.env['PATH'], OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${wire.url}/v1` }
    const { stdout } = await promisify(execFile)(process.execPath, ['example.ts'], { cwd: folder, env })
    expect(stdout).toBe('It is sunny in Oslo.\ncompleted\n')
  } finally {
    await wire.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
