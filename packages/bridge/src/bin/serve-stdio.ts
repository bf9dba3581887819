import type { Writable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Bridge } from '../bridge-contract.ts'
import { createBridgeMcpServer } from '../mcp/index.ts'
import { atEnd } from './end-of-service.ts'
import { tellError } from './tell.ts'

/** Serves MCP to the parent process until either side ends it. */
export async function serveOverStdio(bridge: Bridge, protocol: Writable, over: AbortController): Promise<void> {
  for (const event of ['end', 'close'] as const) process.stdin.once(event, () => over.abort())
  const stopped = atEnd(over.signal, () => bridge.stop())
  const transport = new StdioServerTransport(process.stdin, protocol)
  const connection = serveStdio(createBridgeMcpServer(bridge, {}, tellError), { transport, onerror: tellError })
  await stopped
  // Lets the results of cancelled calls be written first.
  await setImmediate()
  await connection.close()
}
