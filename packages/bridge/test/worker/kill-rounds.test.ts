import { randomUUID } from 'node:crypto'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '@bowline/llm'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { describe, expect, it } from 'vitest'
import { createBridge, workerExecutor } from '../../src/index.ts'
import type { Bridge, BridgeResult, WorkerOptions } from '../../src/index.ts'
import { nodeFlags } from '../../../../scripts/programs.ts'
import { rounds } from '../../../../scripts/test-length.ts'
import { fixtureFile } from '../programs.ts'
import { temporaryFile } from '../runtime-support.ts'
import { recordingLogger } from '../support.ts'
import { atEnd, eventually, isRunning, servedWorker, toldFile } from './support.ts'
import type { Told } from './support.ts'

const restart = { backoffMs: 1, maxRestarts: 1000, windowMs: 1 }

function ledgerWorker(env: Readonly<Record<string, string>>, durable: boolean): WorkerOptions {
  return servedWorker({ id: 'ledger', env: { ...env, DURABLE: durable ? '1' : '0' }, restart }, 'ledger-agent')
}

const pidsOf = (told: readonly Told[]): number[] => told.flatMap(({ pid }) => (typeof pid === 'number' ? [pid] : []))
const effectsOf = (told: readonly Told[], requestId: string): number => told.filter(({ effect }) => effect === requestId).length

/**
 * A result is either complete or says that the outcome is unknown. The effect happens at most once, and exactly once if there is a
 * result.
 */
function checkOutcome(result: BridgeResult, told: readonly Told[], requestId: string): void {
  const effects = effectsOf(told, requestId)
  expect(effects).toBeLessThanOrEqual(1)
  if (result.ok) {
    expect(result).toMatchObject({ status: 'completed', text: '01234' })
    expect(effects).toBe(1)
    return
  }
  expect(['TRANSPORT', 'NOT_FOUND']).toContain(result.error.code)
  if (effects === 1) expect(result.error.details.outcome).toBe('unknown')
}

/** Phases equivalent to `accepted`, so only in long tests: the request is known, and its effect has not happened. */
const alike = rounds({ short: 0, long: 1 }) === 1 ? (['event 1', 'event 3'] as const) : []

/** Phases of a request in which the worker is killed. */
const workerPhases = ['before', 'opening', 'accepted', ...alike, 'event 5', 'settled', 'closing'] as const
const roundsOfWorkers = workerPhases.length * rounds({ short: 1, long: 4 })

describe('a worker that is killed at every phase', () => {
  it.each([
    ['durable', true],
    ['not durable', false],
  ])('B81, B82: %s: a result comes once or its loss is reported, and all slots are freed', async (_what, durable) => {
    const { env, told } = await toldFile()
    const bridge = createBridge({ executors: [workerExecutor({ workers: [ledgerWorker(env, durable)] })], logger: recordingLogger() })
    await bridge.start()
    atEnd(() => bridge.stop({ deadlineMs: 1000 }))
    const killed = new Set<number>()
    const kill = (): void => {
      const pid = pidsOf(told()).at(-1)
      if (pid === undefined || !isRunning(pid)) return
      process.kill(pid, 'SIGKILL')
      killed.add(pid)
    }
    for (let round = 0; round < roundsOfWorkers; round++) {
      const phase = workerPhases[round % workerPhases.length] as (typeof workerPhases)[number]
      const requestId = `r${round}`
      checkOutcome(await oneRequest(bridge, requestId, (now) => void (now === phase && kill())), told(), requestId)
    }
    expect(killed.size).toBeGreaterThan(roundsOfWorkers / 2)
    expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0, queued: 0 } })
    await eventually('the killed are gone', () => [...killed].every((pid) => !isRunning(pid)), 5000)
  })
})

async function oneRequest(bridge: Bridge, requestId: string, at: (phase: string) => void): Promise<BridgeResult> {
  at('before')
  const creating = bridge.createSession()
  at('opening')
  const session = await creating.catch(() => undefined)
  // The worker may be lost while it opens the session. A second call then gets one.
  const { sessionId } = session ?? (await bridge.createSession())
  const run = bridge.prompt({ sessionId, prompt: 'hi', requestId })
  if (await run.accepted()) at('accepted')
  let events = 0
  for await (const event of run) if (event.type === 'text-delta') at(`event ${(events += 1)}`)
  const result = await run.result()
  at('settled')
  const closing = bridge.close({ sessionId })
  at('closing')
  await closing
  return result
}

const bridgePhases = ['start', 'created', 'accepted', ...alike, 'event 5', 'settled', 'closed'] as const
const victims = ['bridge', 'both'] as const
/** By default, each phase with each victim runs once, spread over both kinds of agents. */
const passes = rounds({ short: 1, long: 6 })

describe('a bridge that is killed at every phase, with its worker or alone', () => {
  const kinds = [true, false].flatMap((durable) =>
    bridgePhases.map((phase, place) => ({ what: durable ? 'durable' : 'not durable', durable, phase, place })),
  )

  it.each(kinds)(
    'B91, B97, B99: $what, at "$phase": no process is left, nothing happens twice, and the next bridge knows the outcome',
    async ({ durable, phase, place }) => {
      for (let pass = 0; pass < passes; pass++) {
        const victim = victims[(place + pass + Number(durable)) % victims.length]
        await bridgeRound(phase, victim === 'both', durable)
      }
    },
  )
})

async function bridgeRound(phase: string, withWorker: boolean, durable: boolean): Promise<void> {
  const file = await temporaryFile()
  const { env, told } = await toldFile()
  const options = ledgerWorker(env, durable)
  const { sessionId, result } = await killedAt(phase, { file, options, also: () => (withWorker ? pidsOf(told()) : []) })
  await eventually('no worker is left', () => pidsOf(told()).every((pid) => !isRunning(pid)), 5000)

  const store = sqliteStore({ file })
  await store.open({ namespace: 'default', owner: randomUUID(), clock: systemClock })
  const bridge = createBridge({ executors: [workerExecutor({ workers: [options] })], store: store.state, logger: recordingLogger() })
  await bridge.start()
  const found = await bridge.request('r1', { waitMs: 20_000 })
  if (result) expect(found).toMatchObject(result)
  checkOutcome(found, told(), 'r1')
  const wasAccepted = phase !== 'start' && phase !== 'created'
  if (wasAccepted && durable) expect(found.ok).toBe(true)
  if (wasAccepted && !found.ok) expect(found.error).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown' } })
  if (sessionId !== undefined) await bridge.close({ sessionId })
  expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0, queued: 0 } })
  await bridge.stop({ deadlineMs: 1000 })
  await store.close()
  await eventually('no worker is left of the next bridge', () => pidsOf(told()).every((pid) => !isRunning(pid)), 5000)
}

interface Victim {
  readonly file: string
  readonly options: WorkerOptions
  /** Further processes to kill with it. */
  readonly also: () => readonly number[]
}

/** Kills the process once it has reported this phase. Returns what it had reported by then. */
async function killedAt(phase: string, { file, options, also }: Victim): Promise<{ sessionId?: string; result?: object }> {
  const child = fork(fixtureFile('worker/fixtures/rounds-process'), [file, JSON.stringify(options)], {
    execArgv: [...nodeFlags],
  })
  const exit = once(child, 'exit')
  atEnd(async () => void child.kill('SIGKILL'))
  const known: { sessionId?: string; result?: object } = {}
  await new Promise<void>((resolve, reject) => {
    child.on('message', ({ phase: now, ...more }: { phase: string }) => {
      Object.assign(known, more)
      if (now !== phase) return
      child.kill('SIGKILL')
      for (const pid of also()) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
      resolve()
    })
    void exit.then(() => reject(new Error(`the process ended before ${phase}`)))
  })
  await exit
  return known
}
