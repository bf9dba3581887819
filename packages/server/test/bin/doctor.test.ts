import { join } from 'node:path'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { manualClock, scriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, type Runtime, type RuntimeOptions, type SessionStore } from '@bowline/sessions'
import { fileStore } from '@bowline/sessions/file'
import { postgresStore } from '@bowline/postgres'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { temporaryFolder } from '../support/bench.ts'
import { runHere } from '../support/in-process.ts'

/** Long ago for the doctor, which uses the system clock. */
const start = Date.UTC(2026, 0, 1)

interface Place {
  readonly folder: string
  readonly name: string
  readonly store: () => SessionStore
}

function placesIn(folder: string, url: string): Readonly<Record<'sqlite' | 'file' | 'postgres', Place>> {
  return {
    sqlite: { folder, name: 'sqlite:./data.db', store: () => sqliteStore({ file: join(folder, 'data.db') }) },
    file: { folder, name: 'file:./data', store: () => fileStore({ dir: join(folder, 'data') }) },
    postgres: { folder, name: url, store: () => postgresStore({ connectionString: url, listen: false, clock: { now: () => start } }) },
  }
}

const doctor = ({ name, folder }: Place) => runHere(['doctor', '--store', name], folder)

function runtimeOn(store: SessionStore, steps: Script, options: Partial<RuntimeOptions> = {}, execute?: () => Promise<string>): Runtime {
  const tools = execute ? [defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), execute, timeoutMs: 10 })] : []
  return createRuntime({
    agents: [defineAgent({ name: 'assistant', model: scriptedModel(steps), tools, abortGraceMs: 1 })],
    store,
    onError: () => undefined,
    ...options,
  })
}

const pay = { toolCalls: [{ id: 'c-pay', name: 'pay', input: {} }] }

describe('S214: doctor', () => {
  const database = testDatabase()

  it.each(['sqlite', 'file', 'postgres'] as const)(
    'S214: finds no problem in a healthy %s store, and a lost run in a store that a process left',
    async (kind) => {
      const place = placesIn(temporaryFolder(), database.url)[kind]
      const well = runtimeOn(place.store(), [{ text: 'Hi.' }])
      await well.start()
      await (await well.session(`${kind}:one`).send('Hi')).result()
      await well.stop()
      const { code, stdout, stderr } = await doctor(place)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^ *sessions +\d+$/m)
      expect(stdout).toMatch(/^ *completed +\d+$/m)
      expect(stdout).toMatch(/No problem was found\.\n$/)

      const started = Promise.withResolvers<void>()
      const clock = manualClock(start)
      let dead = false
      const dying = faultyStore(place.store(), [{ of: 'any', when: () => dead, fault: { error: new Error('dead') } }])
      const unanswered = (): Promise<never> => {
        started.resolve()
        return new Promise(() => undefined)
      }
      const hanging = runtimeOn(dying, unanswered, { clock })
      await hanging.start()
      const { runId } = await hanging.session(`${kind}:two`).send('Hi')
      await started.promise
      dead = true
      const stopping = hanging.stop({ graceMs: 0 }).catch(() => undefined)
      await clock.advance(10_001)
      await stopping
      await dying.close().catch(() => undefined)
      const found = await doctor(place)
      expect({ code: found.code, stderr: found.stderr }).toEqual({ code: 1, stderr: '' })
      expect(found.stdout).toMatch(
        new RegExp(
          `^lost-runs: ${runId} of ${kind}:two \\(process ${hanging.id}\\S*, accepted 2026-01-01\\S+\\): held by a process that is gone .*Start a server`,
          'm',
        ),
      )
      expect(found.stdout).toMatch(/problems? (was|were) found\.\n$/)
    },
  )

  it('S214: names pending work, overdue work, and work that was given up', async () => {
    const place = placesIn(temporaryFolder(), database.url).sqlite
    const clock = manualClock(start)
    const secret = 'sixteen characters'
    const notify = { url: 'https://127.0.0.1/hook', events: ['settled'], secret, retentionMs: 1 } as const
    const runtime = runtimeOn(place.store(), [pay, { text: 'Hi.' }], { clock, notify }, () => new Promise(() => undefined))
    await runtime.start()
    const paying = await runtime.session('paying').send('Pay')
    for await (const event of paying) if (event.type === 'tool-execution-start') break
    await clock.advance(1000)
    await paying.result()
    await (await runtime.session('hooked').send('Hi')).result()
    for (let minute = 0; minute < 3; minute++) await clock.advance(60_000)
    await runtime.sweep()
    await runtime.session('later').schedule({ id: 'news', at: clock.now() + 60_000, input: 'What is new?' })
    await runtime.stop()
    const { code, stdout } = await doctor(place)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^needs-recovery: paying: waiting for a decision .*bowline-server log/m)
    expect(stdout).toMatch(/^overdue-timers: schedule of later: overdue\. Start a server/m)
    expect(stdout).toMatch(/^failed-webhooks: \S+ \(the address is refused: it is not a public address\): failed for good/m)
    expect(stdout).toMatch(/^3 problems were found\.$/m)
  })

  it('S214: refuses a missing store, a store in memory, and an argument', async () => {
    const folder = temporaryFolder()
    for (const [argv, message] of [
      [['--store', 'sqlite:./none.db'], 'there is no store'],
      [['--store', 'memory:'], 'a memory: store ends with its process'],
      [['more'], 'is not an argument of this command'],
    ] as const) {
      const { code, stderr } = await runHere(['doctor', ...argv], folder)
      expect({ code, says: stderr.includes(message) }).toEqual({ code: 2, says: true })
    }
  })
})
