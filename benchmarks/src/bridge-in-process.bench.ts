import type { Bridge, BridgeRun } from '@bowline/bridge'
import { echo, startEcho } from './bridge-echo.ts'
import { heapAfterCollection, type Bench } from './harness.ts'
import { percentile } from './sse-load.ts'

const calls = 5_000
const load = 50_000
const inFlight = 50
const sessions = 10_000
const prompt = 'Say it again.'

export const bench: Bench = {
  title: 'An agent of the same process',
  text: [
    'An agent that gives back its prompt. *Delegation* is what `delegate` takes over calling the agent, and *prompt* what `prompt` takes in an open session, one after the other.',
    `*Prompts/s* are ${load.toLocaleString('en')} in ${inFlight} sessions at once. *Idle session* is the heap over that of the start for each of ${sessions.toLocaleString('en')} sessions, after a collection.`,
  ].join('\n'),
  async run() {
    const delegated = await overheadMs((bridge) => bridge.delegate({ prompt }))
    const prompted = await overheadMs((bridge, sessionId) => bridge.prompt({ sessionId, prompt }))
    const perSecond = Math.round(await promptsPerSecond()).toLocaleString('en')
    const kilobytes = ((await idleSessionBytes()) / 1000).toFixed(1)
    const ms = (values: readonly number[]) => [0.5, 0.99].map((share) => percentile(values, share).toFixed(3))
    return {
      head: ['delegation p50 ms', 'p99', 'prompt p50 ms', 'p99', 'prompts/s', 'idle session kB'],
      rows: [[...ms(delegated), ...ms(prompted), perSecond, kilobytes]],
    }
  },
}

/** Returns the time of a call minus the time of the agent. The first half of the calls is not counted. */
async function overheadMs(call: (bridge: Bridge, sessionId: string) => BridgeRun): Promise<readonly number[]> {
  const bridge = await startEcho()
  const { sessionId } = await bridge.createSession()
  const direct: number[] = []
  const through: number[] = []
  for (let place = 0; place < calls * 2; place += 1) {
    direct.push(await took(() => echo.onPrompt({ prompt })))
    through.push(await took(() => done(call(bridge, sessionId))))
  }
  await bridge.stop()
  const base = percentile(direct.slice(calls), 0.5)
  return through.slice(calls).map((ms) => ms - base)
}

async function promptsPerSecond(): Promise<number> {
  const bridge = await startEcho()
  const ids = await Promise.all(Array.from({ length: inFlight }, async () => (await bridge.createSession()).sessionId))
  await promptAll(bridge, ids, load / 5)
  const startedAt = performance.now()
  await promptAll(bridge, ids, load)
  const seconds = (performance.now() - startedAt) / 1000
  await bridge.stop()
  return load / seconds
}

/** Sends prompts sequentially in each session, in all sessions concurrently. */
async function promptAll(bridge: Bridge, ids: readonly string[], count: number): Promise<void> {
  const each = async (sessionId: string): Promise<void> => {
    for (let place = 0; place < count / ids.length; place += 1) await done(bridge.prompt({ sessionId, prompt }))
  }
  await Promise.all(ids.map(each))
}

async function idleSessionBytes(): Promise<number> {
  const bridge = await startEcho()
  const open = async (count: number): Promise<void> => {
    for (let place = 0; place < count; place += 1) await bridge.createSession({ metadata: { place } })
  }
  await open(100)
  const before = heapAfterCollection()
  await open(sessions)
  const held = heapAfterCollection() - before
  await bridge.stop()
  return held / sessions
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

async function done(run: BridgeRun): Promise<void> {
  const result = await run.result()
  if (!result.ok) throw result.error
  if (result.text !== prompt) throw new Error(`The echo said ${result.text}`)
}
