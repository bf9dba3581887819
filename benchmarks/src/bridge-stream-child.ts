// node --expose-gc bridge-stream-child.ts <kind> <megabytes>: streams from a worker to a slow reader and prints the figures.
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { createBridge, workerExecutor } from '@bowline/bridge'
import type { BridgeEvent } from '@bowline/bridge'
import { systemClock } from '@bowline/llm'
import { quiet } from './bridge-echo.ts'
import { heapAfterCollection } from './harness.ts'

export interface StreamFigures {
  readonly seconds: number
  readonly megabytes: number
  readonly peakHeapBytes: number
  readonly peakRssBytes: number
}

const [kind = '', megabytes = ''] = process.argv.slice(2)
const lookEvery = 50
const prompt = `${kind} ${megabytes}`
const executor = workerExecutor({ workers: [{ id: 'flood', entry: join(import.meta.dirname, 'bridge-flood.ts') }] })

/** Reads the executor directly, like the bridge does: nothing is buffered, and the worker must wait for the reader. */
async function* readExecutor(): AsyncGenerator<BridgeEvent> {
  const nothing = (): void => undefined
  await executor.start({ clock: systemClock, logger: quiet, sessionFailed: nothing, agentsChanged: nothing, notify: nothing })
  const session = { sessionId: 's', conversationId: 's', agentId: 'flood', owner: 'local', metadata: {}, createdAt: 0, depth: 0, path: [] }
  await executor.open(session, 'create')
  yield* executor.prompt({ session, requestId: 'r', prompt, runtimeParams: {}, abortSignal: new AbortController().signal })
  await executor.stop({ deadlineMs: 5000 })
}

async function* readBridge(): AsyncGenerator<BridgeEvent> {
  const bridge = createBridge({ executors: [executor], logger: quiet })
  await bridge.start()
  const run = bridge.delegate({ prompt })
  yield* run
  const result = await run.result()
  if (!result.ok) throw result.error
  await bridge.stop()
}

const heaps: number[] = []
const startedAt = performance.now()
let [read, bytes] = [0, 0]
for await (const event of kind === 'text' ? readExecutor() : readBridge()) {
  bytes += event.type === 'text-delta' ? event.delta.length : event.type === 'progress' ? (event.message?.length ?? 0) : 0
  if (read++ % lookEvery === 0) heaps.push(heapAfterCollection())
  await setTimeout(1)
}
const figures: StreamFigures = {
  seconds: (performance.now() - startedAt) / 1000,
  megabytes: bytes / 1e6,
  peakHeapBytes: Math.max(...heaps),
  peakRssBytes: process.resourceUsage().maxRSS * 1024,
}
console.log(JSON.stringify(figures))
