import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { findChromium } from '../find-chromium.mjs'

const folder = mkdtempSync(join(tmpdir(), 'bowline-chromium-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function program(name: string) {
  const file = join(folder, name)
  writeFileSync(file, '#!/bin/sh\n')
  chmodSync(file, 0o755)
  return file
}

describe('D37: the Chromium of the machine', () => {
  it('is the one that CHROMIUM names', () => {
    const own = program('my-browser')
    expect(findChromium({ CHROMIUM: own, PATH: '' })).toBe(own)
    expect(() => findChromium({ CHROMIUM: join(folder, 'nothing') })).toThrow('cannot be executed')
  })

  it('is otherwise the first one on PATH, preferably a headless shell', () => {
    const chromium = program('chromium')
    program('google-chrome')
    expect(findChromium({ PATH: `/nowhere:${folder}` })).toBe(chromium)
    const shell = program('chromium-headless-shell')
    expect(findChromium({ PATH: `/nowhere:${folder}` })).toBe(shell)
  })

  it('is missing without an error for a user, and with an error in CI', () => {
    expect(findChromium({ PATH: '/nowhere' })).toBeUndefined()
    expect(() => findChromium({ PATH: '/nowhere', CI: 'true' })).toThrow('Chromium is missing')
  })
})
