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

/** In its folder the package finds itself by its name. */
async function runScript(script: string, environment: NodeJS.ProcessEnv = {}): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = [...bundledFlags(), '--input-type=module-typescript', '--eval', script]
  return run(process.execPath, args, { cwd: folder, env: { ...process.env, ...environment } })
}

function examplesOf(file: string): readonly string[] {
  return [...readFileSync(join(folder, file), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

const orchestrated = ['look 0', 'look 1', 'look 2', 'write 0', "write [ 'read', 'search' ]", "[ 'write' ]", ''].join('\n')
const simulated = [
  ...['look it is the default read false the sequence expects search', 'look it stays active search true it is next in the sequence', 'look it stays active read true it is next in the sequence'],
  ...["write [] [ { type: 'tool_used', value: 'read' } ]", 'blocked The sequence of write names tools that its allow leaves out: "draft" at sequence[0]. It stops at sequence[0], where no tool is allowed.', ''],
].join('\n')
const recorded = "[ 'search' ]\n"
const remembered = 'true\ntenant:acme:chat:1\n1\n'
const ofRuntimes = ['Hello, and this is on disk.completed\n', 'room:1 needs-recovery pay { sum: 80 }\nIt is paid.\n', 'check paused\nnews active\n', 'settled room:1 completed true\n', '2 4\ntrue\n', remembered, "4 2\n[ { type: 'text', text: 'What is a bowline?' } ]\n", orchestrated]
const printed = [...ofRuntimes, simulated, "[ 'search' ]\n[ 'search', 'save' ]\n", recorded, recorded, recorded, recorded, 'Done over there.\n2 0 []\n', 'awaiting-approval\ncompleted\n0.006 0.999\n']
const numbered = printed.map((output, index) => ({ number: index + 1, output }))
/** On Redis and on a KV service. */
const onRedis = [13, 14]

async function expectToPrint({ number, output }: (typeof numbered)[number], environment: NodeJS.ProcessEnv): Promise<void> {
  const examples = examplesOf('README.md')
  expect(examples).toHaveLength(printed.length)
  const data = mkdtempSync(join(tmpdir(), 'bowline-readme-'))
  try {
    // Its data goes elsewhere.
    expect(await runScript((examples[number - 1] ?? '').replace('.bowline/data.db', join(data, 'data.db')), environment)).toEqual({ stdout: output, stderr: '' })
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

it.each(numbered.filter(({ number }) => !onRedis.includes(number)))('example $number of the README runs', { timeout: 60_000 }, async (example) => {
  await expectToPrint(example, { DATABASE_URL: database.url })
})

describe.skipIf(isRedisUrlMissing)(titleWithRedis('on Redis', isRedisUrlMissing), () => {
  const redis = sharedRedis()
  const kv = sharedKv(redis)

  it.each(numbered.filter(({ number }) => onRedis.includes(number)))('O70: example $number of the README runs', { timeout: 60_000 }, async (example) => {
    const { url, token } = kv.server
    await expectToPrint(example, { REDIS_URL: redis.url, KV_REST_API_URL: url, KV_REST_API_TOKEN: token })
  })

  it('O69, S180: the example of TESTING.md with a KV server runs', { timeout: 60_000 }, async () => {
    const example = examplesOf('TESTING.md').at(said.length) ?? ''
    expect(await runScript(example, { REDIS_URL: redis.url })).toEqual({ stdout: "{ ok: true, version: 2 }\n[ 'evalsha', 'evalsha' ]\n", stderr: '' })
  })
})

const said = ['15 points, 0 failures\n', '20 programs, 0 failures\n', '1 session, 0 problems\n', '20 simulations, 0 failures\n', 'the store is slow\nStill here.\n', 'my store is a session store\n']

it.each(said.map((stdout, index) => ({ stdout, index })))('S180: example $index of TESTING.md runs', { timeout: 60_000 }, async ({ stdout, index }) => {
  const examples = examplesOf('TESTING.md')
  // The last one needs Redis.
  expect(examples).toHaveLength(said.length + 1)
  expect(await runScript(examples[index] ?? '')).toEqual({ stderr: '', stdout })
})
