import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../setup.mjs'

let clone: string
let machine: string

/** Writes a program into `folder`, where a shell finds it. It uses the Node of this test, so that no other program is needed. */
function writeProgram(folder: string, name: string, code: string) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), `#!${process.execPath}\n${code}\n`)
  chmodSync(join(folder, name), 0o755)
}

/** Returns a program that appends its name and arguments to a file. */
const noting = (calls: string, name: string) => `
import fs from 'node:fs'
fs.appendFileSync(${JSON.stringify(calls)}, [${JSON.stringify(name)}, ...process.argv.slice(2)].join(' ') + '\\n')`

const greeting = "console.log('hello ' + process.argv.slice(2).join(' ')); process.exit(3)"

// Replaces the `npx` of npm. Its `install` writes the programs that a real install brings.
const npx = (calls: string, installed: Readonly<Record<string, string>>) => `${noting(calls, 'npx')}
import { dirname } from 'node:path'
if (process.argv.includes('install')) {
  for (const [file, code] of Object.entries(${JSON.stringify(installed)})) {
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.writeFileSync(file, '#!${process.execPath}\\n' + code, { mode: 0o755 })
  }
}`

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'bowline-clone-'))
  machine = join(clone, '.machine')
  cpSync(join(root, 'scripts'), join(clone, 'scripts'), { recursive: true, filter: (file) => !file.includes('/scripts/test') })
  for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml']) cpSync(join(root, file), join(clone, file))
  for (const group of ['apps', 'packages']) mkdirSync(join(clone, group))
  const bin = join(clone, 'node_modules/.bin')
  const noted = join(clone, 'calls')
  const tools = Object.fromEntries(['turbo', 'pnpm'].map((name) => [join(bin, name), noting(noted, name)]))
  writeProgram(
    machine,
    'npx',
    npx(noted, { ...tools, [join(bin, 'greet')]: greeting, [join(clone, 'node_modules/node/bin/node')]: greeting }),
  )
})
afterEach(() => rmSync(clone, { recursive: true, force: true }))

/** Runs a script in a fresh clone, on a machine that only has Node and npm. */
function run(script: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(clone, 'scripts', script), ...args], {
    env: { PATH: machine },
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const calls = () => readFileSync(join(clone, 'calls'), 'utf8').trim().split('\n')
const { packageManager, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  packageManager: string
  scripts: Record<string, string>
}

describe('a fresh clone on a machine without pnpm', () => {
  it('installs once, runs the program of the workspace, and passes on its arguments and its exit code', () => {
    const install = `npx --yes ${packageManager} install --frozen-lockfile`
    expect(run('exec.mjs', 'greet', 'a', '--b')).toEqual({ status: 3, stdout: 'hello a --b\n', stderr: '' })
    expect(calls()).toEqual([install])
    expect(run('exec.mjs', 'greet').stdout).toBe('hello \n')
    expect(calls()).toEqual([install])
  })

  it('builds and packs with the installed tools', () => {
    expect(run('pack.mjs')).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(calls()).toEqual([
      expect.stringContaining(' install '),
      'turbo run build --output-logs=errors-only',
      expect.stringMatching(/^pnpm --recursive --filter \.\/packages\/\* --filter \.\/apps\/studio pack --out \S+%s\.tgz$/),
    ])
  })

  it('prints its usage if no program is given', () => {
    expect(run('exec.mjs')).toMatchObject({ status: 2, stderr: expect.stringContaining('node scripts/exec.mjs <program>') as string })
  })

  it.each(Object.entries(scripts).filter(([name]) => name !== 'release'))('npm run %s needs no installed package', (_name, command) => {
    const begins = /^(npm run build && )?node scripts\/(exec|start|reset-demo)\.mjs( |$)/
    expect(command).toMatch(begins)
  })
})
