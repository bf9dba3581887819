import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'
import { askStep, pendingCall, runStart } from './support/events.ts'
import { startServer } from './support/setup.ts'
import { resumedBy } from './support/wire-server.ts'

const folder = join(import.meta.dirname, '..')

const exampleOf = async () => /```ts\n([\s\S]*?)```/.exec(await readFile(join(folder, 'README.md'), 'utf8'))?.[1] ?? ''

/** Inside its folder the package can import itself by its name. */
const runScript = (script: string, env: Readonly<Record<string, string>>) =>
  promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', script], {
    cwd: folder,
    env: { ...process.env, ...env },
  })

it('the example of the README runs unchanged, against a server of this test', async () => {
  const server = await startServer()
  const run = { runId: 'r1', turn: 1 }
  server.onRun = () => server.play([...runStart(run, 'Where am I?'), ...askStep(run, 1, [pendingCall('c1', 'where_am_i')])])
  server.answered = resumedBy('r1', ['You are ', 'at sea.'])
  server.intercept = ({ headers }) => (headers.authorization === 'Bearer secret' ? undefined : { status: 401, code: 'unauthenticated' })
  const example = await exampleOf()
  expect(
    example
      .trim()
      .split('\n')
      .filter((line) => line !== '').length,
  ).toBeLessThanOrEqual(15)
  const script = example.replace('http://127.0.0.1:8787', server.url)
  expect((await runScript(script, { BOWLINE_TOKEN: 'secret' })).stdout).toBe('You are at sea.\ncompleted\n')
  await expect(runScript(script, { BOWLINE_TOKEN: 'wrong' })).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('Error: ') as string,
  })
})

it('the example of the README fails and says that there is no server', async () => {
  const server = await startServer()
  const script = (await exampleOf()).replace('http://127.0.0.1:8787', server.url).replace('10_000', '10')
  await server.close()
  await expect(runScript(script, {})).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('Error: The server was not reachable for 10 ms.') as string,
  })
})
