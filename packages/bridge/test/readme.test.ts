import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const folder = join(import.meta.dirname, '..')

describe('README', () => {
  it('its first example runs as it stands and has at most 15 lines', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
    expect(code.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(15)
    // In this folder the package finds itself by its name.
    const run = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', code], { cwd: folder, encoding: 'utf8' })
    expect(run.stdout).toBe('Nothing is wrong with "Tie the knot.".\n')
    expect(run.status).toBe(0)
  }, 30_000)
})
