import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')
const run = promisify(execFile)

/** Runs a script in the folder of the package, where the package can import itself by name. */
async function runScript(script: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  return run(process.execPath, args, { cwd: folder })
}

function examplesOf(file: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

/** Runs a program with its data in a temporary folder. */
async function expectToPrint(code: string, stdout: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
  try {
    expect(await runScript(code.replace('.bowline/data.db', join(data, 'data.db')))).toEqual({ stdout, stderr: '' })
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

it('the example of the README runs', { timeout: 60_000 }, async () => {
  const examples = examplesOf('README.md')
  expect(examples).toHaveLength(1)
  await expectToPrint(examples[0] ?? '', 'Hello, and this is on disk.completed\n')
})
