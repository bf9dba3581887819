import type { Bridge } from '@bowline/bridge'
import { createBridgeMcpHandler, createBridgeMcpServer } from '@bowline/bridge/mcp'
import type { McpHttpHandler } from '@modelcontextprotocol/server'
import type { Principal } from '../auth/principal.ts'
import type { McpOptions } from './mcp-service.ts'

/** Creates the HTTP handler of the bridge's tools, for both versions of the protocol. Each request acts for its own caller. */
export function createMcpGate(bridge: Bridge, { mayUse = () => true, heartbeatMs }: McpOptions): McpHttpHandler {
  // Checks the bridge before the first request.
  createBridgeMcpServer(bridge)
  return createBridgeMcpHandler(
    (context) => {
      const principal = context.authInfo?.extra?.['principal'] as Principal
      const owner = `${principal.tenant}/${principal.id}`
      return createBridgeMcpServer(bridge, { owner, mayUse: (agentId) => mayUse(principal, agentId), runtimeParams: [] })(context)
    },
    { keepAliveMs: heartbeatMs },
  )
}
