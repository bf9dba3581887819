import { manualClock, type ManualClock } from '@bowline/llm/testing'
import { createRuntime, type RunHandle, type Runtime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/testing/crashes'
import { runProgram } from '../explorers/programs/run-program.ts'
import type { History } from '../explorers/history/operations.ts'
import type { Program } from '../explorers/programs/program.ts'
import { describe, expect, it } from 'vitest'
import { rounds, testSeed } from '../../../../scripts/test-length.ts'
import { drawProgram } from '../explorers/programs/draw-program.ts'
import { logOf } from '../support.ts'
import { accepted, look, RecordedProcesses } from './recorded-runs.ts'

const looking = {
  tools: [look],
  steps: ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }) =>
    prompt.at(-1)?.role === 'tool' ? { text: 'done' } : { toolCalls: [{ name: 'look', input: {} }] },
}

/** Advances the clock until all runs have ended. Each runtime reads meanwhile what the others write. */
async function readUntilEnded(
  clock: ManualClock,
  runtimes: readonly Runtime[],
  sends: readonly Promise<RunHandle>[],
): Promise<readonly string[]> {
  const runs = await Promise.all(sends)
  let done = false
  const results = Promise.all(runs.map((run) => run.result())).finally(() => (done = true))
  for (let rounds = 0; !done && rounds < 200; rounds++) {
    await clock.advance(500)
    await Promise.all(runtimes.map(readAll))
  }
  return (await results).map(({ status }) => status)
}

/** Sends inputs, with each runtime and to each session in turn. */
function sendTo(runtimes: readonly Runtime[], sessions: number, inputs: number): readonly Promise<RunHandle>[] {
  return Array.from({ length: inputs }, (_, index) => runtimes[index % runtimes.length] as Runtime).map((runtime, index) =>
    runtime.session(`room:${index % sessions}`).send(`input ${index}`, { id: `input-${index}` }),
  )
}

/** Runs a program and records each of its processes. */
async function recordedProgram(program: Program): Promise<History> {
  const processes = new RecordedProcesses()
  await runProgram(program, {
    faults: [
      {
        name: 'recorded',
        runtime: ({ store, ...options }) =>
          processes.record(store ?? memoryStore(), (given) => createRuntime({ ...options, store: given })),
      },
    ],
  })
  return processes.history()
}

async function readAll(runtime: Runtime, index: number): Promise<void> {
  const session = runtime.session(`room:${index}`)
  if (!(await session.info())) return
  await session.messages()
  await session.runs()
  await logOf(session)
}

describe('histories of real runs', () => {
  it('S196, S197: runs of several runtimes on one memory store are accepted', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const processes = new RecordedProcesses()
    const runtimes = ['a', 'b', 'c'].map(() => processes.start(store, { ...looking, clock, concurrency: 2 }))
    for (const runtime of runtimes) await runtime.start()
    const statuses = await readUntilEnded(clock, runtimes, sendTo(runtimes, 4, 24))
    expect(statuses).toEqual(statuses.map(() => 'completed'))
    for (const runtime of runtimes) await runtime.stop()
    expect(accepted(processes.history(), { atRest: true }).sessions).toBe(4)
  })

  it('S196, S197: runs with lost answers of the store are accepted', async () => {
    const clock = manualClock()
    const store = memoryStore()
    const processes = new RecordedProcesses()
    const lossy = (skip: number) => (given: typeof store) =>
      faultyStore(given, [
        { of: 'commit', skip, times: 1, fault: 'answer-lost' },
        { of: 'commit', skip: skip + 3, times: 1, fault: 'unavailable' },
        { of: 'claim', skip: 1, times: 1, fault: 'answer-lost' },
        { of: 'renew', times: 1, fault: 'answer-lost' },
      ])
    const runtimes = [2, 5, 8].map((skip) =>
      processes.start(store, { ...looking, clock, concurrency: 1, around: (given) => lossy(skip)(given as typeof store) }),
    )
    for (const runtime of runtimes) await runtime.start()
    const statuses = await readUntilEnded(clock, runtimes, sendTo(runtimes, 3, 12))
    expect(statuses).toEqual(statuses.map(() => 'completed'))
    for (const runtime of runtimes) await runtime.stop()
    const history = processes.history()
    expect(history.filter(({ call, answer }) => call.what === 'claim' && !answer).length).toBeGreaterThan(0)
    expect(history.filter(({ call, answer }) => call.what === 'commit' && !answer).length).toBeGreaterThan(0)
    accepted(history, { atRest: true })
  })

  it('S45, S137, S197: a background task that needs help twice sends two deliveries', async () => {
    const plan = [{ calls: [{ delegate: [{ calls: [{ delegate: [] }, { tool: 'pay' as const }] }], background: true as const }] }]
    const history = await recordedProgram({
      seed: 858,
      setup: { modelMs: 4_000 },
      steps: [{ do: 'steer', to: 'b', name: 'in0', plan }],
      crashes: [{ at: 1, how: 'freeze-in-tool' }],
    })
    const told = history.flatMap(({ call, answer }) =>
      call.what === 'commit' && answer && 'ok' in answer && answer.ok ? (call.batch.deliver ?? []) : [],
    )
    const helpless = told.filter(({ writes }) =>
      writes.some(
        (write) =>
          write.op === 'inbox.put' && write.rows.some(({ id }) => id.startsWith('child-settled:') && id.endsWith(':needs-recovery')),
      ),
    )
    expect(helpless.length).toBeGreaterThan(1)
    expect(new Set(helpless.map(({ id }) => id)).size).toBe(helpless.length)
    accepted(history)
  })

  const perTest = 20
  it.each(Array.from({ length: rounds({ short: 2, long: 500 }) }, (_, index) => 1 + index * perTest + (testSeed - 1) * 10_000))(
    'S197: random programs over all features are accepted, from seed %i',
    async (first) => {
      for (let seed = first; seed < first + perTest; seed++) accepted(await recordedProgram(drawProgram(seed)))
    },
  )
})
