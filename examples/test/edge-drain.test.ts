import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { testDatabase } from '../../scripts/postgres.ts'
import { start } from './start.ts'

const database = testDatabase()

it('S193: edge-drain works when it is called, and keeps nothing running between calls', async () => {
  const program = start('edge-drain/main.ts', { env: { DATABASE_URL: database.url } })
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  onTestFinished(() => pool.end())
  const rowsOf = async (text: string): Promise<unknown[]> => (await pool.query<Record<string, unknown>>(text)).rows

  // The process stays alive for five more seconds.
  await program.printed('in five seconds')
  expect(await rowsOf('select 1 from bowline.lease')).toEqual([])
  expect(await rowsOf('select 1 from bowline.process')).toEqual([])
  const ours = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await vi.waitFor(async () => expect(await rowsOf(`select query ${ours}`)).toEqual([]), { timeout: 2000 })
  expect(
    await rowsOf(
      `select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    ),
  ).toEqual([])
  expect(program.process.exitCode).toBe(null)

  expect(await program.end()).toEqual({
    lines: [
      '/send: ran 0, left 1, alarm now',
      '/wake: ran 1, left 0, alarm in five seconds',
      '/wake: ran 1, left 0, alarm now',
      '/wake: ran 0, left 0, alarm none',
    ],
    faults: '',
    code: 0,
  })
  const reading = createRuntime({
    agents: [defineAgent({ name: 'buyer', model: scriptedModel([]) })],
    store: postgresStore({ connectionString: database.url }),
    concurrency: 0,
  })
  onTestFinished(() => reading.stop())
  const { items } = await reading.session('order:1').messages()
  expect(items.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
  expect(JSON.stringify(items.at(-1))).toContain('By the list it costs 80.')
})
