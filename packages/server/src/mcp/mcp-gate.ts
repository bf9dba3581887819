import type { Bridge } from '@bowline/bridge'
import { createBridgeMcpHandler, createBridgeMcpServer } from '@bowline/bridge/mcp'
import type { McpHttpHandler } from '@modelcontextprotocol/server'
import type { Principal } from '../auth/principal.ts'
import type { McpOptions } from './mcp-service.ts'

/** The bridge's tools over HTTP, for both eras of the protocol. Every request is served for whoever made it. */
export function createMcpGate(bridge: Bridge, { mayUse = () => true, heartbeatMs }: McpOptions): McpHttpHandler {
  return createBridgeMcpHandler(
    (context) => {
      const principal = context.authInfo?.extra?.['principal'] as Principal
      const owner = `${principal.tenant}/${principal.id}`
      return createBridgeMcpServer(bridge, { owner, mayUse: (agentId) => mayUse(principal, agentId), runtimeParams: [] })(context)
    },
    { keepAliveMs: heartbeatMs },
  )
}
