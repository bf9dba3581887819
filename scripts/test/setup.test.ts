import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { installStamp, root } from '../setup.mjs'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bowline-stamp-'))
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json']) cpSync(join(root, file), join(folder, file))
  for (const member of ['packages/llm', 'apps/demo']) {
    mkdirSync(join(folder, member), { recursive: true })
    writeFileSync(join(folder, member, 'package.json'), '{}')
  }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('D1: a second start installs nothing', () => {
  it('while the lockfile and the manifests are the same', () => {
    expect(installStamp(folder)).toBe(installStamp(folder))
  })

  it.each(['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', 'packages/llm/package.json', 'apps/demo/package.json'])(
    'until %s changes',
    (file) => {
      const before = installStamp(folder)
      writeFileSync(join(folder, file), 'changed')
      expect(installStamp(folder)).not.toBe(before)
    },
  )
})
