import { describe, expect, it } from 'vitest'
import { createBridge, inProcessExecutor, runtimeAgent } from '../src/index.ts'
import type { BridgeRun, BridgeSession } from '../src/index.ts'
import { ownerKey } from '../src/owner-key.ts'
import { bridgeProcess } from './bridge-process-handle.ts'
import { bridgeAt } from './fixtures/bridge-at.ts'
import type { BridgeAt } from './fixtures/bridge-at.ts'
import { rounds } from '../../../scripts/test-length.ts'
import { later, temporaryFile } from './runtime-support.ts'
import { failureOf, outcomeOf, recordingLogger } from './support.ts'

interface Accepted {
  readonly accepted: boolean
  readonly requestId: string
  readonly sessionId: string
}

async function recovered(file: string, kind: 'fast' | 'slow' = 'fast'): Promise<BridgeAt> {
  const at = await bridgeAt({ file, kind })
  later(() => at.stop())
  return at
}

async function runsOf({ runtime }: BridgeAt, sessionId: string) {
  return (await runtime.session(`bridge:${ownerKey('local')}:${sessionId}`).runs()).items
}

/** Starts a bridge process, sends a prompt and kills the process while the prompt runs. */
async function killedAt(file: string, agentId: string) {
  const process = await bridgeProcess([file, 'slow'])
  const session = (await process.ask<BridgeSession>('createSession', { agentId })) as BridgeSession
  const begun = agentId === 'writer' ? 'promptUntilEvent' : 'prompt'
  await process.ask(begun, { sessionId: session.sessionId, prompt: 'hi', requestId: 'r1' })
  await process.kill()
  return session
}

describe('a durable agent, after its bridge was killed', () => {
  it('B96, B97: status answers from the store, the run is joined and its outcome recorded once', async () => {
    const file = await temporaryFile()
    const { sessionId } = await killedAt(file, 'writer')
    const at = await recovered(file)
    expect(await at.bridge.session(sessionId)).toMatchObject({ status: 'busy', currentRequestId: 'r1', agentId: 'writer' })
    const joined = at.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    const looked = at.bridge.request('r1', { waitMs: 20_000 })
    expect(outcomeOf(await joined.result())).toMatchObject({ status: 'completed', text: 'A line.', requestId: 'r1' })
    expect(await looked).toEqual(await joined.result())
    expect(await runsOf(at, sessionId)).toMatchObject([{ inputId: 'r1', status: 'completed' }])
    expect(await at.bridge.session(sessionId)).toMatchObject({ status: 'idle' })
    expect(at.bridge.counters().requests).toMatchObject({ completed: 1 })
    expect(outcomeOf(await at.bridge.prompt({ sessionId, prompt: 'more' }).result()).text).toBe('A line.')
  })

  it('B97: the session that it left busy is freed by the next caller that prompts it', async () => {
    const file = await temporaryFile()
    const { sessionId } = await killedAt(file, 'writer')
    const at = await recovered(file)
    const refused = failureOf(await at.bridge.prompt({ sessionId, prompt: 'more' }).result())
    expect(refused).toMatchObject({ code: 'BUSY', details: { requestId: 'r1' } })
    outcomeOf(await at.bridge.request('r1', { waitMs: 20_000 }))
    expect(outcomeOf(await at.bridge.prompt({ sessionId, prompt: 'more' }).result()).text).toBe('A line.')
  })

  it('B97: a cancel reaches the run of the killed bridge', async () => {
    const file = await temporaryFile()
    const { sessionId } = await killedAt(file, 'writer')
    const at = await recovered(file, 'slow')
    expect(await at.bridge.cancel({ requestId: 'r1' })).toMatchObject({ cancelled: true, sessionId })
    expect(await runsOf(at, sessionId)).toMatchObject([{ inputId: 'r1', status: 'stopped' }])
    expect(await at.bridge.request('r1')).toMatchObject({ status: 'aborted' })
  })

  it('B72, B97: a bridge that stops leaves the request running, and the next one records its end', async () => {
    const file = await temporaryFile()
    const first = await bridgeAt({ file, kind: 'slow' })
    const { sessionId } = await first.bridge.createSession({ agentId: 'writer' })
    const run = first.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    await run.accepted()
    await first.stop()
    expect(failureOf(await run.result())).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown', reason: 'shutdown' } })
    const at = await recovered(file)
    expect(outcomeOf(await at.bridge.request('r1', { waitMs: 20_000 }))).toMatchObject({ status: 'completed', text: 'A line.' })
    expect(await runsOf(at, sessionId)).toHaveLength(1)
  })
})

/** Starts two bridges over one runtime and store, like two processes that share a store. */
async function twoBridges(kind: 'fast' | 'slow') {
  const first = await recovered(await temporaryFile(), kind)
  const second = createBridge({
    executors: [inProcessExecutor({ agents: [runtimeAgent(first.runtime, { agent: 'writer' })] })],
    logger: recordingLogger(),
  })
  await second.start()
  later(() => second.stop({ deadlineMs: 1000 }))
  return { at: first, first: first.bridge, second }
}

describe('two bridges on one store', () => {
  it('B98: both serve a durable session, and each knows the requests of the other', async () => {
    const { at, first, second } = await twoBridges('fast')
    const { sessionId } = await first.createSession({ agentId: 'writer' })
    expect(outcomeOf(await second.prompt({ sessionId, prompt: 'one', requestId: 'r1' }).result()).status).toBe('completed')
    expect(outcomeOf(await first.prompt({ sessionId, prompt: 'two', requestId: 'r2' }).result()).status).toBe('completed')
    for (const bridge of [first, second]) {
      for (const id of ['r1', 'r2']) expect(outcomeOf(await bridge.request(id)).text).toBe('A line.')
    }
    expect(await first.prompt({ sessionId, prompt: 'one', requestId: 'r1' }).result()).toEqual(await second.request('r1'))
    expect(await runsOf(at, sessionId)).toHaveLength(2)
  })

  it('B98: of two prompts at once one is BUSY, and both bridges can join and cancel the other', async () => {
    const { at, first, second } = await twoBridges('slow')
    const { sessionId } = await first.createSession({ agentId: 'writer' })
    await second.session(sessionId)
    const runs = [first.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }), second.prompt({ sessionId, prompt: 'ho', requestId: 'r2' })]
    const accepted = await Promise.all(runs.map((run) => run.accepted()))
    expect(accepted.filter(Boolean)).toHaveLength(1)
    const [winner, other] = accepted[0] ? [first, second] : [second, first]
    const run = runs[accepted.indexOf(true)] as BridgeRun
    expect(await runsOf(at, sessionId)).toHaveLength(1)
    expect(failureOf(await (runs[accepted.indexOf(false)] as BridgeRun).result()).code).toBe('BUSY')
    expect(await other.cancel({ requestId: run.requestId })).toMatchObject({ cancelled: true })
    expect(await winner.request(run.requestId, { waitMs: 20_000 })).toEqual(await other.request(run.requestId, { waitMs: 20_000 }))
    expect(outcomeOf(await run.result()).status).toBe('aborted')
    expect((await winner.session(sessionId)).status).toBe('idle')
  })

  it('B99: a session of another bridge that is not durable is reported as elsewhere, and its request can be followed', async () => {
    const { first, second } = await twoBridges('slow')
    const { sessionId } = await first.createSession({ agentId: 'plain' })
    await first.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).accepted()
    expect(failureOf(await second.prompt({ sessionId, prompt: 'more' }).result())).toMatchObject({
      code: 'TRANSPORT',
      details: { reason: 'elsewhere' },
    })
    expect(await second.request('r1')).toMatchObject({ status: 'running' })
    const following = second.request('r1', { waitMs: 20_000 })
    expect(await second.cancel({ requestId: 'r1' })).toMatchObject({ cancelled: false, settled: false, reason: 'elsewhere' })
    await first.cancel({ requestId: 'r1' })
    expect(outcomeOf(await following).status).toBe('aborted')
  })
})

describe('an agent that is not durable, after its bridge was killed', () => {
  it('B99: its records stay: the outcome is unknown, the session expired by shutdown', async () => {
    const file = await temporaryFile()
    const { sessionId } = await killedAt(file, 'plain')
    const { bridge } = await recovered(file)
    expect(failureOf(await bridge.request('r1'))).toMatchObject({ code: 'TRANSPORT', retryable: false, details: { outcome: 'unknown' } })
    await expect(bridge.session(sessionId)).rejects.toMatchObject({ code: 'EXPIRED', details: { reason: 'shutdown' } })
    const repeat = failureOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    expect(repeat).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown' } })
    expect((await bridge.sessions()).sessions).toEqual([])
    expect(bridge.health()).toMatchObject({ sessions: { active: 0 }, requests: { inFlight: 0 } })
  })
})

describe('a bridge that is killed at each of its writes', () => {
  const kinds = ['prompt', 'delegate'] as const
  const agents = ['writer', 'plain'] as const

  it.each(kinds.flatMap((kind) => agents.map((agentId) => [kind, agentId] as const)))(
    'B96, B99: %s to %s: never two runs, one outcome, or the reason why it is missing',
    async (kind, agentId) => {
      let deaths = 0
      for (let write = 1; ; write++) {
        const survived = await Promise.all(momentsAt(write).map((when) => oneRound({ kind, agentId, write, when })))
        deaths += survived.filter((each) => !each).length
        if (survived.every(Boolean)) break
      }
      // Kills happened at the writes that create session and request, and at the writes that end them.
      expect(deaths).toBeGreaterThanOrEqual((kind === 'prompt' ? 4 : 3) * momentsAt(1).length)
    },
  )
})

/** By default, kills alternate between before and after a write: one kill per write. */
function momentsAt(write: number): readonly Round['when'][] {
  const moments = ['before', 'after'] as const
  return rounds({ short: 1, long: 2 }) === 2 ? moments : [moments[write % 2] ?? 'before']
}

interface Round {
  readonly kind: 'prompt' | 'delegate'
  readonly agentId: string
  readonly write: number
  readonly when: 'before' | 'after'
}

/** Returns true if the process made fewer writes than that. */
async function oneRound({ kind, agentId, write, when }: Round): Promise<boolean> {
  const file = await temporaryFile()
  // The first write is the record of the process itself.
  const process = await bridgeProcess([file, 'fast', `${write + 1}`, when])
  const created = kind === 'prompt' ? await process.ask<BridgeSession>('createSession', { agentId }) : undefined
  const input =
    kind === 'prompt'
      ? { sessionId: created?.sessionId ?? 'bs_none', prompt: 'hi', requestId: 'r1' }
      : { agentId, prompt: 'hi', requestId: 'r1' }
  const accepted = kind === 'prompt' && !created ? undefined : await process.ask<Accepted>(kind, input)
  const end = accepted && (await process.ask<object>('request', 'r1'))
  // The last write may come after the response.
  const survived = end !== undefined && (await process.ask('health')) !== undefined
  await process.kill()

  const at = await recovered(file)
  const found = await at.bridge.request('r1', { waitMs: 20_000 })
  if (end) expect(found).toMatchObject(end)
  if (accepted && agentId === 'writer') expect(outcomeOf(found)).toMatchObject({ status: 'completed', text: 'A line.' })
  if (!found.ok) expect(['NOT_FOUND', 'TRANSPORT']).toContain(found.error.code)
  if (accepted && !found.ok) expect(found.error).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown' } })
  if (agentId === 'writer') await checkRuns(at, input, kind)
  expect(at.bridge.health()).toMatchObject({ requests: { inFlight: 0, queued: 0 } })
  await at.stop()
  return survived
}

/** Repeats the request under the same id, as a caller without a response would. There must be only one run. */
async function checkRuns(
  at: BridgeAt,
  input: { readonly sessionId?: string; readonly prompt: string; readonly requestId: string },
  kind: 'prompt' | 'delegate',
): Promise<void> {
  const repeat =
    kind === 'prompt'
      ? at.bridge.prompt({ ...input, sessionId: input.sessionId ?? '' })
      : at.bridge.delegate({ agentId: 'writer', ...input })
  const result = await repeat.result()
  if (!result.ok) return expect(result.error.code).toBe('NOT_FOUND')
  expect(result).toMatchObject({ status: 'completed', text: 'A line.' })
  expect((await runsOf(at, result.sessionId)).filter(({ inputId }) => inputId === 'r1')).toHaveLength(1)
}
