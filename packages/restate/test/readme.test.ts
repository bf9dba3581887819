import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { bundledFlags } from '../../../scripts/programs.ts'
import { freePort, isRestateMissing, sharedRestate, titleWithRestate } from '../../../scripts/restate.ts'

const folder = join(import.meta.dirname, '..')
const [code = ''] = readFileSync(join(folder, 'README.md'), 'utf8').match(/(?<=```ts\n).*?(?=```)/s) ?? []

describe.skipIf(isRestateMissing)(titleWithRestate('the README'), () => {
  const restate = sharedRestate()
  const database = testDatabase()

  it('D44: its program runs', { timeout: 60_000 }, async () => {
    const { url, adminUrl } = restate()
    const env = {
      ...process.env,
      DATABASE_URL: database.url,
      RESTATE_URL: url,
      RESTATE_ADMIN_URL: adminUrl,
      PORT: String(await freePort()),
    }
    const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', code]
    const ended = await promisify(execFile)(process.execPath, args, { cwd: folder, env })
    expect(ended).toEqual({ stdout: 'Hello from a worker.\n', stderr: '' })
  })
})
