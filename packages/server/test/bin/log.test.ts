import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { manualClock, scriptedModel } from '@bowline/llm/testing'
import { createRuntime, type Inspection, type SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { postgresStore } from '@bowline/postgres'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { faultyStore } from '@bowline/testing/crashes'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { temporaryFolder } from '../support/bench.ts'
import { runHere } from '../support/in-process.ts'

const start = Date.UTC(2026, 0, 1)

/** Leaves the store in the state after a SIGKILL in the middle of a payment. */
async function killedWhilePaying(store: SessionStore): Promise<{ readonly runId: string; readonly owner: string }> {
  const started = Promise.withResolvers<void>()
  const execute = (): Promise<string> => new Promise(() => started.resolve())
  const pay = defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), execute })
  const model = scriptedModel([{ text: 'Hello.' }, { toolCalls: [{ id: 'c-pay', name: 'pay', input: {} }] }])
  const clock = manualClock(start)
  let dead = false
  const dying = faultyStore(store, [{ of: 'any', when: () => dead, fault: { error: new Error('dead') } }])
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'assistant', model, tools: [pay], abortGraceMs: 1 })],
    store: dying,
    clock,
    onError: () => undefined,
  })
  await runtime.start()
  const session = runtime.session('tenant:acme:bill')
  await (await session.send('Hi')).result()
  await session.schedule({ id: 'news', every: 60_000, input: 'What is new?' })
  await session.schedules.pause('news')
  const { runId } = await session.send('Pay')
  await started.promise
  dead = true
  const stopping = runtime.stop({ graceMs: 0 }).catch(() => undefined)
  await clock.advance(10_001)
  await stopping
  await store.close()
  return { runId, owner: runtime.id }
}

describe('S214: log', () => {
  const database = testDatabase()

  it.each(['sqlite', 'file', 'postgres'] as const)(
    'S214: prints from a %s store what a killed process left, for people and as JSON, twice the same',
    async (kind) => {
      const folder = temporaryFolder()
      const [store, name] =
        kind === 'sqlite'
          ? [sqliteStore({ file: join(folder, 'data.db') }), 'sqlite:./data.db']
          : kind === 'file'
            ? [fileStore({ dir: join(folder, 'data') }), 'file:./data']
            : [postgresStore({ connectionString: database.url, listen: false, clock: { now: () => start } }), database.url]
      const { runId, owner } = await killedWhilePaying(store)
      const argv = ['log', 'tenant:acme:bill', '--store', name]
      const { code, stdout, stderr } = await runHere(argv, folder)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^session +tenant:acme:bill: running, agent assistant, at 20/)
      expect(stdout).toMatch(/^committed +\d+ commits, 2 turns, 2 runs, events 1 to \d+, entries \d+$/m)
      expect(stdout).toMatch(/^ {2}run \S+ completed \(completed\) at 2026-01-01T00:00:00/m)
      expect(stdout).toMatch(
        new RegExp(
          `^ {2}run ${runId} running: turn 2, step 1, claimed 1 times\n {4}held by ${owner}\\S* until 2026-01-01T00:00:1\\S+ \\(over\\)\n {4}Its process is gone`,
          'm',
        ),
      )
      expect(stdout).toMatch(
        /^ {4}call c-pay pay \(once\) started, attempt 1\n {6}Its effect may or may not have happened\. .*The store does not know these two settings\.$/m,
      )
      expect(stdout).toMatch(/^ {2}schedule news paused$/m)
      const printed = await runHere([...argv, '--json'], folder)
      const inspection = JSON.parse(printed.stdout) as Inspection
      expect(inspection.open.runs[0]).toMatchObject({ runId, calls: [{ toolCallId: 'c-pay', resume: 'asks-tool' }] })
      expect((JSON.parse((await runHere([...argv, '--json'], folder)).stdout) as Inspection).committed).toEqual(inspection.committed)
    },
  )

  it('S214: on Postgres it does not register as a process of the database, beside one that works', async () => {
    const working = postgresStore({ connectionString: database.url, poolSize: 1 })
    const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Hi.' }]) })], store: working })
    await runtime.start()
    await (await runtime.session('tenant:acme:one').send('Hi')).result()
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const processes = async () => (await client.query('select * from bowline.process')).rows as unknown[]
    const before = await processes()
    const { code, stdout } = await runHere(['log', 'tenant:acme:one', '--store', database.url], temporaryFolder())
    expect(code).toBe(0)
    expect(stdout).toMatch(/^open +nothing$/m)
    expect(before).toHaveLength(1)
    expect(await processes()).toEqual(before)
    await client.end()
    await runtime.stop()
  })

  it.each(['sqlite', 'file'] as const)('S214: refuses a %s store that a process uses, and names the process', async (kind) => {
    const folder = temporaryFolder()
    const store = kind === 'sqlite' ? sqliteStore({ file: join(folder, 'data') }) : fileStore({ dir: join(folder, 'data') })
    await store.open({ namespace: 'default', owner: 'server', clock: manualClock() })
    const { code, stdout, stderr } = await runHere(['log', 'room:1', '--store', `${kind}:./data`], folder)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(`is in use by this process (${process.pid}); only one process can open it`)
    await store.close()
  })

  it('S214: creates no store, and names the wrong argument', async () => {
    const folder = temporaryFolder()
    expect(await runHere(['log', 'room:1'], folder)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('store: there is no store sqlite:') as string,
    })
    expect(existsSync(join(folder, '.bowline'))).toBe(false)
    expect(await runHere(['log', 'room:1', '--store', 'memory:'], folder)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('store: a memory: store ends with its process') as string,
    })
    expect(await runHere(['log'], folder)).toMatchObject({ code: 2, stderr: 'bowline-server: SESSION-KEY: is required\n' })
    expect(await runHere(['log', 'a', 'b'], folder)).toMatchObject({
      code: 2,
      stderr: 'bowline-server: b: is not an argument of this command\n',
    })
    await killedWhilePaying(sqliteStore({ file: join(folder, 'data.db') }))
    const missing = (key: string) => runHere(['log', key, '--store', 'sqlite:./data.db'], folder)
    expect((await missing('bill')).stderr).toMatch(
      /^bowline-server: bill: there is no such session in sqlite:\S+; did you mean tenant:acme:bill\?\n$/,
    )
    expect((await missing('room:9')).stderr).toMatch(/; the newest are tenant:acme:bill\n$/)
    expect(await missing('a b')).toMatchObject({ code: 1, stderr: expect.stringContaining('it contains " "') as string })
  })
})
