import type { Bridge } from '../bridge-contract.ts'
import { startHttpServer } from '../mcp/http-server.ts'
import type { HttpFlags } from './command-line.ts'
import { atEnd } from './end-of-service.ts'
import { tell, tellError } from './tell.ts'

/** Serves over HTTP until the process is asked to end. */
export async function serveOverHttp(bridge: Bridge, flags: HttpFlags, over: AbortController): Promise<void> {
  const server = await startHttpServer(bridge, { ...flags, onerror: tellError })
  tell(`listening on ${server.url}`)
  await atEnd(over.signal, () => bridge.stop())
  await server.close()
}
