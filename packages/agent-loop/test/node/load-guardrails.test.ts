import { execFile } from 'node:child_process'
import { relative } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../../scripts/programs.ts'
import { loadGuardrails } from '../../src/node/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const guard = (name: string, reason = name) => `{ name: '${name}', beforeCall: () => ({ action: 'block', reason: '${reason}' }) }`
const reasons = (guardrails: Awaited<ReturnType<typeof loadGuardrails>>) =>
  Promise.all(guardrails.map(async (one) => (await one.beforeCall?.({} as never, {} as never))?.reason))

describe('loadGuardrails', () => {
  it('A156: imports the exports of .js, .mjs and .ts files in the order of folders and names; the first of a name wins', async () => {
    const [builtIn, user, project] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()]
    await builtIn.write('b.mjs', `export const guardrails = [${guard('two')}, ${guard('three')}]`)
    const winner = await builtIn.write('a.mjs', `export const guardrail = ${guard('one', 'built-in')}`)
    const loser = await user.write(
      'mine.ts',
      `export const guardrail: object = ${guard('one', 'user')}\nexport const other = ${guard('four')}\nexport const limit: number = 5`,
    )
    await project.write('package.json', '{ "type": "module" }')
    await project.write('x.js', `export const beta = ${guard('six')}\nexport const alpha = ${guard('five')}`)
    const guardrails = await loadGuardrails({ folders: [builtIn.path, user.path, project.path] })
    expect(guardrails.map(({ name }) => name)).toEqual(['one', 'two', 'three', 'four', 'five', 'six'])
    expect((await reasons(guardrails))[0]).toBe('built-in')
    expect(guardrails.diagnostics).toEqual([
      { kind: 'guardrail', name: 'one', message: `the one in ${loser} is not used: ${winner} has one with the same name` },
    ])
  })

  it('A156: skips names that begin with _ or a dot, types, folders and other files', async () => {
    const folder = await temporaryFolder()
    for (const name of ['_helper.mjs', '.hidden.mjs', 'types.d.ts', 'folder.js/x.mjs', 'data.json', 'old.cjs', 'README.md']) {
      await folder.write(name, 'throw new Error("was loaded")')
    }
    const guardrails = await loadGuardrails({ folders: [folder.path] })
    expect([guardrails.length, guardrails.diagnostics]).toEqual([0, []])
  })

  it('a file with a mistake gives a diagnostic that names it, and the other files are loaded', async () => {
    const folder = await temporaryFolder()
    const wrong: Readonly<Record<string, readonly [code: string, message: unknown]>> = {
      'broken.mjs': ['export const =', expect.any(String)],
      'empty.mjs': ['export const helper = () => 1', 'it exports no guardrail'],
      'hookless.mjs': [
        "export const guardrail = { name: 'x' }",
        'its export guardrail is not a guardrail: it has none of onTurnStart, onTurnEnd, beforeCall, afterCall',
      ],
      'nameless.mjs': [
        'export const a = { beforeCall() {} }',
        'its export a is not a guardrail: defineGuardrail.options.name must be a text that is not blank; received undefined',
      ],
      'odd.mjs': [
        "export const guardrails = [{ name: 'x', beforeCall: 1 }]",
        'its export guardrails is not a guardrail: the guardrail x: beforeCall must be a function; received 1',
      ],
      'policy.mjs': [
        "export const guardrail = { name: 'x', onError: 'ignore', beforeCall() {} }",
        'its export guardrail is not a guardrail: the guardrail x: onError must be one of block, allow; received "ignore"',
      ],
      'text.mjs': [
        "export const guardrails = ['x']",
        'its export guardrails is not a guardrail: defineGuardrail.options must be a guardrail; received a text of 1 character',
      ],
      'throws.mjs': ["throw new Error('at load')", 'at load'],
    }
    for (const [name, [code]] of Object.entries(wrong)) await folder.write(name, code)
    await folder.write('zz-good.mjs', `export const guardrail = ${guard('good')}`)
    const guardrails = await loadGuardrails({ folders: [folder.path, `${folder.path}/none`] })
    expect(guardrails.map(({ name }) => name)).toEqual(['good'])
    expect(guardrails.diagnostics.map(({ kind, name, message }) => [kind, relative(folder.path, name), message])).toEqual([
      ['file', 'none', expect.stringContaining('ENOENT')],
      ...Object.entries(wrong).map(([name, [, message]]) => ['file', name, message]),
    ])
  })

  it('reload loads changed files again, and keeps unchanged guardrails as they are', async () => {
    const folder = await temporaryFolder()
    await folder.write('a.mjs', `export const guardrail = ${guard('a', 'first')}`)
    await folder.write('b.mjs', `export const guardrail = ${guard('b')}`)
    const before = await loadGuardrails({ folders: [folder.path] })
    await folder.write('a.mjs', `export const guardrail = ${guard('a', 'second')}`)
    await folder.write('c.mjs', `export const guardrail = ${guard('c')}`)
    const after = await before.reload()
    expect([await reasons(before), await reasons(after)]).toEqual([
      ['first', 'b'],
      ['second', 'b', 'c'],
    ])
    expect(after[1]).toBe(before[1])
  })

  it('a file that no longer loads keeps its earlier guardrails, and loses them when the file is gone', async () => {
    const folder = await temporaryFolder()
    const file = await folder.write('a.mjs', `export const guardrail = ${guard('a')}`)
    const first = await loadGuardrails({ folders: [folder.path] })
    await folder.write('a.mjs', 'throw new Error("half written")')
    const second = await first.reload()
    const third = await second.reload()
    for (const list of [second, third]) {
      expect([...list]).toEqual([first[0]])
      expect(list.diagnostics).toEqual([{ kind: 'file', name: file, message: 'half written; its earlier guardrails stay in use' }])
    }
    await folder.write('a.mjs', 'export const guardrails = []')
    expect(await third.reload()).toHaveLength(1)
  })

  it('A156: outside of a test runner files are loaded and reloaded in the same way', async () => {
    const folder = await temporaryFolder()
    await folder.write(
      'a.ts',
      `interface Named { name: string }\nexport const b: Named = ${guard('b')}\nexport const a: Named = ${guard('a')}`,
    )
    const script = `import { loadGuardrails } from '@bowline/agent-loop/node'
import { appendFileSync } from 'node:fs'
const names = (list) => list.map(({ name }) => name)
const first = await loadGuardrails({ folders: ['.'] })
const same = await first.reload()
appendFileSync('a.ts', ${JSON.stringify(`\nexport const c = ${guard('c')}`)})
const second = await same.reload()
console.log(JSON.stringify({ names: [names(first), names(second)], same: first[0] === same[0], wrong: second.diagnostics }))`
    const { stdout } = await promisify(execFile)(process.execPath, [...bundledFlags(), '--input-type=module', '-e', script], {
      cwd: folder.path,
    })
    expect(JSON.parse(stdout)).toEqual({
      names: [
        ['a', 'b'],
        ['a', 'b', 'c'],
      ],
      same: true,
      wrong: [],
    })
  })

  it('A156: files run in the order of their names when they load', async () => {
    const folder = await temporaryFolder()
    const mark = (name: string) => `(globalThis.loadOrder ??= []).push('${name}')\nexport const guardrail = ${guard(name)}`
    for (const name of ['c', 'a', 'b']) await folder.write(`${name}.mjs`, `await null;${mark(name)}`)
    await loadGuardrails({ folders: [folder.path] })
    const order = (globalThis as { loadOrder?: string[] }).loadOrder
    delete (globalThis as { loadOrder?: string[] }).loadOrder
    expect(order).toEqual(['a', 'b', 'c'])
  })
})
