import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..')

/** In its folder the package finds itself by its name. */
function runScript(script: string): { readonly stdout: string; readonly stderr: string } {
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', script]
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
}

function examplesOf(file: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

const orchestrated = ['look 0', 'look 1', 'look 2', 'write 0', "write [ 'read', 'search' ]", "[ 'write' ]", ''].join('\n')
const shown = ['Hello, and this is on disk.completed\n', orchestrated]

it.each(shown.map((stdout, index) => ({ stdout, index })))('example $index of the README runs', { timeout: 60_000 }, ({ stdout, index }) => {
  const examples = examplesOf('README.md')
  expect(examples).toHaveLength(shown.length)
  const example = examples[index] ?? ''
  const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
  try {
    // Its data goes elsewhere.
    const script = example.replace('.bowline/data.db', join(data, 'data.db'))
    expect(script).not.toBe(example)
    expect(runScript(script)).toMatchObject({ stderr: '', stdout })
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
})

const said = ['15 points, 0 failures\n', 'the store is slow\nStill here.\n', 'my store is a session store\n']

it.each(said.map((stdout, index) => ({ stdout, index })))('S180: example $index of TESTING.md runs', { timeout: 60_000 }, ({ stdout, index }) => {
  const examples = examplesOf('TESTING.md')
  expect(examples).toHaveLength(said.length)
  expect(runScript(examples[index] ?? '')).toMatchObject({ stderr: '', stdout })
})
