import type { Bridge } from '@bowline/bridge'
import type { AuthInfo } from '@modelcontextprotocol/server'
import type { Principal } from '../auth/principal.ts'

export interface McpOptions {
  readonly mayUse?: ((principal: Principal, agentId: string) => boolean) | undefined
  readonly heartbeatMs: number
  /** Gets the error if the bridge cannot be served. Each request then fails. */
  readonly onFault: (error: unknown) => void
}

export interface McpService {
  answer(request: Request, principal: Principal, body?: unknown): Promise<Response>
  close(): Promise<void>
}

/** Creates the MCP service. The SDK is loaded here, because most servers have no bridge. */
export function createMcpService(bridge: Bridge, options: McpOptions): McpService {
  const loading = import('./mcp-gate.ts').then(({ createMcpGate }) => createMcpGate(bridge, options))
  loading.catch(options.onFault)
  return {
    async answer(request, principal, parsedBody) {
      const gate = await loading
      return gate.fetch(request, { authInfo: authInfoOf(principal), ...(parsedBody !== undefined && { parsedBody }) })
    },
    async close() {
      await (await loading).close()
    },
  }
}

/** Returns the caller in the form of the SDK. The token is not passed on: it has been checked. */
function authInfoOf(principal: Principal): AuthInfo {
  return { token: '', clientId: principal.id, scopes: [...principal.scopes], extra: { principal } }
}
