import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Runtime } from '@bowline/sessions'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { createBridge } from '../bridge.ts'
import type { Bridge } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { createBridgeMcpServer } from '../mcp/server.ts'
import { loadConfig } from './load-config.ts'

const exitClean = 0
const exitFailure = 1
const exitBadConfiguration = 2
const exitSecondInterrupt = 130

/** Runs the command and gives its exit code. */
export async function runCommand(argv: readonly string[], protocol: Writable): Promise<number> {
  try {
    await serve(argv, protocol)
    return exitClean
  } catch (error) {
    process.stderr.write(`bowline-bridge: ${describe(error)}\n`)
    return BridgeError.isInstance(error) && error.code === 'CONFIG' ? exitBadConfiguration : exitFailure
  }
}

async function serve(argv: readonly string[], protocol: Writable): Promise<void> {
  const over = endOfService(protocol)
  const { runtimes = [], ...options } = await loadConfig(argv)
  const bridge = createBridge(options)
  const started: Runtime[] = []
  try {
    for (const runtime of runtimes) {
      await runtime.start()
      started.push(runtime)
    }
    await bridge.start()
    const stopped = stopAtEnd(bridge, over)
    const transport = new StdioServerTransport(process.stdin, protocol)
    const connection = serveStdio(createBridgeMcpServer(bridge), { transport, onerror: report })
    await stopped
    // The outcomes of what was cancelled are still on their way out.
    await setImmediate()
    await connection.close()
  } finally {
    for (const runtime of started.reverse()) await runtime.stop()
  }
}

/** Aborted when the client is gone or somebody asks the process to end. Asked twice it exits at once. */
function endOfService(protocol: Writable): AbortSignal {
  const over = new AbortController()
  let asked = false
  const onSignal = (): void => {
    if (asked) process.exit(exitSecondInterrupt)
    asked = true
    over.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  for (const event of ['end', 'close'] as const) process.stdin.once(event, () => over.abort())
  protocol.once('error', () => over.abort())
  return over.signal
}

/**
 * Begins to stop within the same tick: what still runs must hear that the bridge ends before it hears that its client is
 * gone, since only the latter is a cancel.
 */
function stopAtEnd(bridge: Bridge, over: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => void bridge.stop().then(resolve, reject)
    if (over.aborted) stop()
    else over.addEventListener('abort', stop, { once: true })
  })
}

function report(error: Error): void {
  process.stderr.write(`bowline-bridge: ${error.message}\n`)
}

function describe(error: unknown): string {
  if (BridgeError.isInstance(error)) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
