import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bundledFlags } from '../../../scripts/programs.ts'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import { sharedKv } from './kv-support.ts'

const folder = join(import.meta.dirname, '..')
const run = promisify(execFile)

/** Runs a script in the folder of the package, where the package can import itself by name. */
async function runScript(script: string, environment: NodeJS.ProcessEnv): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  return run(process.execPath, args, { cwd: folder, env: { ...process.env, ...environment } })
}

/** Returns the blocks of TypeScript with this mode. */
function programsIn(file: string, mode: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(new RegExp(`\`\`\`ts${mode}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, code = '']) => code,
  )
}

const guide = '../../docs/guides/stores.md'
const programs = [...programsIn(guide, ' redis'), ...programsIn(guide, ' kv')]

it('D44: the documentation has programs on each server', () => {
  expect(programs).toHaveLength(2)
})

describe.skipIf(isRedisUrlMissing)(titleWithRedis('on Redis', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)

  it.each(programs)('O70: program %# of the documentation runs', { timeout: 60_000 }, async (code) => {
    const { url, token } = kv.server
    const stdout = [...code.matchAll(/\/\/ → (.*\n)/g)].map(([, line = '']) => line).join('')
    expect(await runScript(code, { REDIS_URL: redis.url, KV_REST_API_URL: url, KV_REST_API_TOKEN: token })).toEqual({ stdout, stderr: '' })
  })

  it.each(
    ['{ ok: true, version: 1 }\n', "{ ok: true, version: 2 }\n[ 'evalsha', 'evalsha' ]\n"].map((stdout, index) => ({ stdout, index })),
  )('O69, S180: example $index of the README runs', { timeout: 60_000 }, async ({ stdout, index }) => {
    const examples = programsIn('README.md', '')
    expect(examples).toHaveLength(2)
    expect(await runScript(examples[index] ?? '', { REDIS_URL: redis.url })).toEqual({ stdout, stderr: '' })
  })
})
