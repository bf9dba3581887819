// One process of the worker benchmark with the built Bowline packages. Prints its figures as JSON.
import { join } from 'node:path'
import { createBridge, workerExecutor } from '@bowline/bridge'
import type { Bridge } from '@bowline/bridge'
import { median } from './harness.ts'
import { percentile } from './sse-load.ts'

const starts = 9
const warmups = 500
const prompts = 2_000

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const file = (name: string): string => join(import.meta.dirname, name)

async function startBridge(): Promise<Bridge> {
  const env = { NODE_OPTIONS: `--import ${file('use-built.ts')}` }
  const executor = workerExecutor({ workers: [{ id: 'echo', entry: file('worker-echo.ts'), env }] })
  const bridge = createBridge({ executors: [executor], logger: quiet })
  await bridge.start()
  return bridge
}

/** Measures from the start of the bridge to the first session. */
async function startMs(): Promise<number> {
  const startedAt = performance.now()
  const bridge = await startBridge()
  await bridge.createSession()
  const ms = performance.now() - startedAt
  await bridge.stop()
  return ms
}

async function roundTripsMs(): Promise<number[]> {
  const bridge = await startBridge()
  const { sessionId } = await bridge.createSession()
  const took: number[] = []
  for (let place = 0; place < warmups + prompts; place += 1) {
    const startedAt = performance.now()
    const result = await bridge.prompt({ sessionId, prompt: 'Say it again.' }).result()
    if (!result.ok) throw result.error
    if (place >= warmups) took.push(performance.now() - startedAt)
  }
  await bridge.stop()
  return took
}

const startsMs: number[] = []
for (let place = 0; place < starts; place += 1) startsMs.push(await startMs())
const took = await roundTripsMs()
console.log(JSON.stringify({ startMs: median(startsMs), p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99) }))
