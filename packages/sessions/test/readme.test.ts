import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')
const database = testDatabase()

/** In its folder the package finds itself by its name. */
function runScript(script: string, environment: NodeJS.ProcessEnv = {}): { readonly stdout: string; readonly stderr: string } {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, ...environment } })
}

function examplesOf(file: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

const orchestrated = ['look 0', 'look 1', 'look 2', 'write 0', "write [ 'read', 'search' ]", "[ 'write' ]", ''].join('\n')
const printed = ['Hello, and this is on disk.completed\n', 'room:1 needs-recovery pay { sum: 80 }\nIt is paid.\n', '2 4\ntrue\n', orchestrated, 'Done over there.\n2 0 []\n']

it.each(printed.map((output, index) => [index + 1, output] as const))('example %i of the README runs', { timeout: 60_000 }, (number, output) => {
  const examples = examplesOf('README.md')
  expect(examples).toHaveLength(printed.length)
  const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
  try {
    // Its data goes elsewhere.
    const run = runScript((examples[number - 1] ?? '').replace('.bowline/data.db', join(data, 'data.db')), { DATABASE_URL: database.url })
    expect(run.stderr).toBe('')
    expect(run.stdout).toBe(output)
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
})

const said = ['15 points, 0 failures\n', '20 programs, 0 failures\n', '1 session, 0 problems\n', '20 simulations, 0 failures\n', 'the store is slow\nStill here.\n', 'my store is a session store\n']

it.each(said.map((stdout, index) => ({ stdout, index })))('S180: example $index of TESTING.md runs', { timeout: 60_000 }, ({ stdout, index }) => {
  const examples = examplesOf('TESTING.md')
  expect(examples).toHaveLength(said.length)
  expect(runScript(examples[index] ?? '')).toMatchObject({ stderr: '', stdout })
})
