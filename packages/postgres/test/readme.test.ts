import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')
const database = testDatabase()

/** Returns the blocks of TypeScript with this mode. */
function programsIn(file: string, mode: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(new RegExp(`\`\`\`ts${mode}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, code = '']) => code,
  )
}

const guides = ['postgres', 'stores'].flatMap((name) => programsIn(`../../docs/guides/${name}.md`, ' postgres'))
const examples = programsIn('README.md', '')

it('D44: the documentation and the README have programs on Postgres', () => {
  expect([guides.length, examples.length]).toEqual([2, 1])
})

it.each([...guides, ...examples])('D44: program %# of the documentation runs on Postgres', { timeout: 60_000 }, async (code) => {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', code]
  const ended = await promisify(execFile)(process.execPath, args, { cwd: folder, env: { ...process.env, DATABASE_URL: database.url } })
  const stdout = [...code.matchAll(/\/\/ → (.*\n)/g)].map(([, line = '']) => line).join('')
  expect(ended).toEqual({ stdout, stderr: '' })
})
