import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')

/** Runs a script in the folder of the package, where the package can import itself by name. */
async function runScript(script: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  return promisify(execFile)(process.execPath, args, { cwd: folder })
}

function examplesOf(file: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

it('the example of the README runs', { timeout: 60_000 }, async () => {
  const examples = examplesOf('README.md')
  expect(examples).toHaveLength(1)
  expect(await runScript(examples[0] ?? '')).toEqual({ stderr: '', stdout: '15 points, 0 failures\n' })
})

const said = [
  '15 points, 0 failures\n',
  '16 calls, 31 runs, 0 failures\n',
  'the store is slow\nStill here.\n',
  'my rows are those of a session store\n',
]

it.each(said.map((stdout, index) => ({ stdout, index })))(
  'S180: example $index of TESTING.md runs',
  { timeout: 60_000 },
  async ({ stdout, index }) => {
    const examples = examplesOf('TESTING.md')
    expect(examples).toHaveLength(said.length)
    expect(await runScript(examples[index] ?? '')).toEqual({ stderr: '', stdout })
  },
)
