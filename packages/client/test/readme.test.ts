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

it('the example of the README runs as it stands, against a server of this test', async () => {
  const server = await startServer()
  const run = { runId: 'r1', turn: 1 }
  server.onRun = () => server.play([...runStart(run, 'Where am I?'), ...askStep(run, 1, [pendingCall('c1', 'where_am_i')])])
  server.answered = resumedBy('r1', ['You are ', 'at sea.'])
  server.intercept = ({ headers }) => (headers.authorization === 'Bearer secret' ? undefined : { status: 401, code: 'unauthenticated' })
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  expect(example.trim().split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(15)
  const script = example.replace('http://127.0.0.1:8787', server.url)
  const { stdout } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module-typescript', '--eval', script], {
    cwd: folder,
    env: { ...process.env, BOWLINE_TOKEN: 'secret' },
  })
  expect(stdout).toBe('You are at sea.\ncompleted\n')
}, 30_000)
