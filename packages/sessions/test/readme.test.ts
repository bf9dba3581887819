import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { bundledFlags } from '../../../scripts/programs.ts'
import { isRedisUrlMissing, sharedRedis, titleWithRedis } from '../../../scripts/redis.ts'
import { sharedKv } from './state/kv-support.ts'

const folder = join(import.meta.dirname, '..')
const database = testDatabase()
const run = promisify(execFile)

/** Runs a script in the folder of the package, where the package can import itself by name. */
async function runScript(
  script: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  return run(process.execPath, args, { cwd: folder, env: { ...process.env, ...environment } })
}

function examplesOf(file: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

/** Runs a program with its data in a temporary folder. */
async function expectToPrint(code: string, stdout: string, environment: NodeJS.ProcessEnv = {}): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
  try {
    expect(await runScript(code.replace('.bowline/data.db', join(data, 'data.db')), environment)).toEqual({ stdout, stderr: '' })
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

const guides = ['postgres', 'stores'].map((name) => readFileSync(join(folder, `../../docs/guides/${name}.md`), 'utf8')).join('')

/** Returns the programs of the documentation that need a server of this kind, and the output that they name after `// →`. */
function programsFor(kind: string): readonly { readonly code: string; readonly stdout: string }[] {
  const programs = [...guides.matchAll(new RegExp(`\`\`\`ts ${kind}\\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) => code)
  return programs.map((code) => ({ code, stdout: [...code.matchAll(/\/\/ → (.*\n)/g)].map(([, line = '']) => line).join('') }))
}

it('the example of the README runs', { timeout: 60_000 }, async () => {
  const examples = examplesOf('README.md')
  expect(examples).toHaveLength(1)
  await expectToPrint(examples[0] ?? '', 'Hello, and this is on disk.completed\n')
})

it('D44: the documentation has programs on each server', () => {
  expect(['postgres', 'redis', 'kv'].map((mode) => programsFor(mode).length)).toEqual([2, 1, 1])
})

it.each(programsFor('postgres'))('D44: program %# of the documentation runs on Postgres', { timeout: 60_000 }, async ({ code, stdout }) => {
  await expectToPrint(code, stdout, { DATABASE_URL: database.url })
})

describe.skipIf(isRedisUrlMissing)(titleWithRedis('on Redis', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)

  it.each([...programsFor('redis'), ...programsFor('kv')])(
    'O70: program %# of the documentation runs',
    { timeout: 60_000 },
    async ({ code, stdout }) => {
      const { url, token } = kv.server
      await expectToPrint(code, stdout, { REDIS_URL: redis.url, KV_REST_API_URL: url, KV_REST_API_TOKEN: token })
    },
  )
})
