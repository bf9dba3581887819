import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/sessions/postgres'
import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { bundledFlags } from '../../../scripts/programs.ts'

const folder = join(import.meta.dirname, '..')
const file = 'examples/serverless.ts'
const database = testDatabase()

const said = ['/send: ran 0, left 1, alarm now', '/wake: ran 1, left 0, alarm in five seconds', '/wake: ran 1, left 0, alarm now', '/wake: ran 0, left 0, alarm none']

it('S193: the README names the example of a serverless host', () => {
  expect(readFileSync(join(folder, 'README.md'), 'utf8')).toContain(`](${file})`)
})

it('S193: the example of a serverless host works when it is called, and between calls holds nothing', { timeout: 60_000 }, async () => {
  const child = spawn(process.execPath, [...bundledFlags(), join(folder, file)], { cwd: folder, env: { ...process.env, DATABASE_URL: database.url }, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let faults = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (faults += text))
  const pool = new pg.Pool({ connectionString: database.url, max: 1 })
  onTestFinished(() => pool.end())
  const rowsOf = async (text: string): Promise<unknown[]> => (await pool.query<Record<string, unknown>>(text)).rows
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    // The process is there for five seconds more.
    if (line !== said[1]) continue
    expect(await rowsOf('select 1 from bowline.run_state where owner is not null or lease_until is not null')).toEqual([])
    expect(await rowsOf('select 1 from bowline.process')).toEqual([])
    const ours = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
    await vi.waitFor(async () => expect(await rowsOf(`select query ${ours}`)).toEqual([]), { timeout: 2000 })
    expect(await rowsOf(`select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`)).toEqual([])
    expect(child.exitCode).toBe(null)
  }
  if (child.exitCode === null) await once(child, 'exit')
  expect({ lines, faults, exitCode: child.exitCode }).toEqual({ lines: said, faults: '', exitCode: 0 })
  const reading = createRuntime({ agents: [defineAgent({ name: 'buyer', model: scriptedModel([]) })], store: postgresStore({ connectionString: database.url }), concurrency: 0 })
  onTestFinished(() => reading.stop())
  const { items } = await reading.session('order:1').messages()
  expect(items.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool-result', 'assistant'])
  expect(JSON.stringify(items.at(-1))).toContain('By the list it costs 80.')
})
