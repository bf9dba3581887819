import { join } from 'node:path'
import { createBridge, workerExecutor } from '@bowline/bridge'
import type { Bridge } from '@bowline/bridge'
import { quiet } from './bridge-echo.ts'
import type { Bench } from './harness.ts'
import { percentile } from './sse-load.ts'

const delegations = 1_000
const inFlight = 50
const askEveryMs = 5
const agents = ['one', 'two']

export const bench: Bench = {
  title: 'Two workers at their limit',
  text: [
    `${delegations.toLocaleString('en')} delegations to two workers that take 20 ms for each, ${inFlight} in flight, which is all that may be. Meanwhile the bridge is asked every ${askEveryMs} ms for its health and`,
    'the status of a session: *control* is from the moment at which that was due to both answers. *Lost* are delegations without the right answer.',
  ].join('\n'),
  async run() {
    const entry = join(import.meta.dirname, 'bridge-slow.ts')
    const executor = workerExecutor({ workers: agents.map((id) => ({ id, entry })) })
    const bridge = createBridge({ executors: [executor], logger: quiet, maxInFlight: inFlight })
    await bridge.start()
    await Promise.all(agents.map((agentId) => bridge.delegate({ agentId, prompt: 'warm up' }).result()))
    const { sessionId } = await bridge.createSession()
    const control = watchControl(bridge, sessionId)
    const startedAt = performance.now()
    const { lost, tookMs, most } = await delegateAll(bridge)
    const seconds = (performance.now() - startedAt) / 1000
    const controlMs = await control.stop()
    await bridge.stop()
    const ms = (values: readonly number[], share: number): string => percentile(values, share).toFixed(1)
    return {
      head: ['delegations', 'at once', 's', 'p50 ms', 'p99', 'lost', 'control p50 ms', 'p99', 'longest'],
      rows: [
        [
          ...[delegations.toLocaleString('en'), String(most), seconds.toFixed(2), ms(tookMs, 0.5), ms(tookMs, 0.99), String(lost)],
          ...[0.5, 0.99, 1].map((share) => ms(controlMs, share)),
        ],
      ],
    }
  },
}

async function delegateAll(bridge: Bridge): Promise<{ readonly lost: number; readonly tookMs: readonly number[]; readonly most: number }> {
  const tookMs: number[] = []
  let [next, lost, most] = [0, 0, 0]
  const work = async (): Promise<void> => {
    while (next < delegations) {
      const prompt = `task ${next++}`
      const startedAt = performance.now()
      const run = bridge.delegate({ agentId: agents[next % agents.length] as string, prompt })
      most = Math.max(most, bridge.health().requests.inFlight)
      const result = await run.result()
      tookMs.push(performance.now() - startedAt)
      if (!result.ok || result.text !== prompt) lost += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return { lost, tookMs, most }
}

/** Sends requests at fixed times, independent of the duration of the answers. */
function watchControl(bridge: Bridge, sessionId: string): { readonly stop: () => Promise<readonly number[]> } {
  const tookMs: number[] = []
  const asked: Promise<void>[] = []
  let dueAt = performance.now() + askEveryMs
  const timer = setInterval(() => {
    for (const now = performance.now(); dueAt <= now; dueAt += askEveryMs) asked.push(ask(dueAt))
  }, askEveryMs)
  const ask = async (from: number): Promise<void> => {
    bridge.health()
    await bridge.session(sessionId)
    tookMs.push(performance.now() - from)
  }
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(asked)
      return tookMs
    },
  }
}
