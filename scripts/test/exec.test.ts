import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../setup.mjs'

let clone: string
let machine: string

/** Writes a program that a shell finds in `folder`. It runs on this test's Node, so that nothing else need be there. */
function writeProgram(folder: string, name: string, code: string) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), `#!${process.execPath}\n${code}\n`)
  chmodSync(join(folder, name), 0o755)
}

// Stands for npm's own: it notes how it was called, and `install` makes what an install makes.
const npx = (calls: string, bin: string, node: string) => `
import fs from 'node:fs'
import { dirname } from 'node:path'
const args = process.argv.slice(2)
fs.appendFileSync(${JSON.stringify(calls)}, args.join(' ') + '\\n')
if (args.includes('install')) {
  for (const file of [${JSON.stringify(join(bin, 'greet'))}, ${JSON.stringify(node)}]) {
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.writeFileSync(file, '#!${process.execPath}\\nconsole.log("hello " + process.argv.slice(2).join(" ")); process.exit(3)', { mode: 0o755 })
  }
}`

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'bowline-clone-'))
  machine = join(clone, '.machine')
  cpSync(join(root, 'scripts'), join(clone, 'scripts'), { recursive: true, filter: (file) => !file.includes('/scripts/test') })
  for (const file of ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml']) cpSync(join(root, file), join(clone, file))
  for (const group of ['apps', 'packages']) mkdirSync(join(clone, group))
  const bin = join(clone, 'node_modules/.bin')
  writeProgram(machine, 'npx', npx(join(clone, 'calls'), bin, join(clone, 'node_modules/node/bin/node')))
})
afterEach(() => rmSync(clone, { recursive: true, force: true }))

/** Runs a script in a fresh clone, on a machine that has Node and npm only. */
function run(script: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(clone, 'scripts', script), ...args], { env: { PATH: machine }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

const calls = () => readFileSync(join(clone, 'calls'), 'utf8').trim().split('\n')
const { packageManager, scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { packageManager: string; scripts: Record<string, string> }

describe('a fresh clone on a machine without pnpm', () => {
  it('installs once, runs the program of the workspace, and hands its arguments and its exit code on', () => {
    const install = `--yes ${packageManager} install --frozen-lockfile`
    expect(run('exec.mjs', 'greet', 'a', '--b')).toEqual({ status: 3, stdout: 'hello a --b\n', stderr: '' })
    expect(calls()).toEqual([install])
    expect(run('exec.mjs', 'greet').stdout).toBe('hello \n')
    expect(calls()).toEqual([install])
  })

  it('builds and packs through npx', () => {
    expect(run('pack.mjs')).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(calls()).toEqual([
      expect.stringContaining(' install '),
      expect.stringContaining(`--yes ${packageManager} exec turbo run build`),
      expect.stringMatching(/ --recursive --filter \.\/packages\/\* pack --out \S+%s\.tgz$/),
    ])
  })

  it('says how it is used when it is told no program', () => {
    expect(run('exec.mjs')).toMatchObject({ status: 2, stderr: expect.stringContaining('node scripts/exec.mjs <program>') as string })
  })

  it.each(Object.entries(scripts).filter(([name]) => name !== 'release'))('npm run %s needs nothing that an install brings', (_name, command) => {
    const begins = /^(npm run build && )?node scripts\/(exec|start|reset-demo)\.mjs( |$)/
    expect(command).toMatch(begins)
  })
})
