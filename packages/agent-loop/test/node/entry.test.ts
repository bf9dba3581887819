import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import * as node from '../../src/node/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)

/** Builds a prompt in a separate process that has imported only the given code. */
async function buildIn(before: string, sections: object): Promise<unknown> {
  const script = `${before}
import { assemblePrompt } from ${source('plugins/prompt/assemble.ts')}
import { mergeSections } from ${source('plugins/prompt/sections.ts')}
console.log(JSON.stringify(await assemblePrompt(mergeSections(${JSON.stringify(sections)}), { tools: [], now: 0 })))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return JSON.parse(stdout)
}

it('exports these names', () => {
  expect(Object.keys(node).sort()).toEqual(['loadGuardrails', 'loadSkills'])
})

it('A159: without this entry a file and docs are left out with an error that names the import to add', async () => {
  const { path, write } = await temporaryFolder()
  const sections = { system: 'one', append: { file: await write('a.md', 'two') }, docs: { folder: path } }
  const message = "a file needs the file reader; add: import '@bowline/agent-loop/node'"
  expect(await buildIn('', sections)).toMatchObject({
    text: 'one',
    errors: [
      { section: 'docs', message },
      { section: 'append', message },
    ],
  })
})

it('importing this entry is enough, also from another copy of the package', async () => {
  const { write } = await temporaryFolder()
  const sections = { system: 'one', append: { file: await write('a.md', 'two\n') } }
  const expected = { text: 'one\n\ntwo', errors: [] }
  expect(await buildIn(`import ${source('node/index.ts')}`, sections)).toMatchObject(expected)
  expect(await buildIn(`import ${JSON.stringify(new URL('../../src/node/index.ts?copy', import.meta.url).href)}`, sections)).toMatchObject(
    expected,
  )
})
