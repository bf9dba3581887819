import type { Bridge } from '@bowline/bridge'
import { httpHandler, serverFactory } from '@bowline/bridge/internal'
import type * as mcpSdk from '@modelcontextprotocol/server'
import type { Principal } from '../auth/principal.ts'
import type { McpOptions } from './mcp-service.ts'

/** Creates the HTTP handler of the bridge's tools, for both versions of the protocol. Each request acts for its own caller. */
export function createMcpGate(sdk: typeof mcpSdk, bridge: Bridge, { mayUse = () => true, heartbeatMs }: McpOptions): mcpSdk.McpHttpHandler {
  // Checks the bridge before the first request.
  serverFactory(sdk, bridge)
  return httpHandler(
    sdk,
    (context) => {
      const principal = context.authInfo?.extra?.['principal'] as Principal
      const owner = `${principal.tenant}/${principal.id}`
      return serverFactory(sdk, bridge, { owner, mayUse: (agentId) => mayUse(principal, agentId), runtimeParams: [] })(context)
    },
    { keepAliveMs: heartbeatMs },
  )
}
