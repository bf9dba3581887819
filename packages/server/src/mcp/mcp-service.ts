import type { Bridge } from '@bowline/bridge'
import type { AuthInfo } from '@modelcontextprotocol/server'
import type { Principal } from '../auth/principal.ts'

export interface McpOptions {
  readonly mayUse?: ((principal: Principal, agentId: string) => boolean) | undefined
  readonly heartbeatMs: number
}

export interface McpService {
  answer(request: Request, principal: Principal, body?: unknown): Promise<Response>
  close(): Promise<void>
}

/** The SDK is loaded here, since most servers have no bridge and no need of it. */
export function createMcpService(bridge: Bridge, options: McpOptions): McpService {
  const loading = import('./mcp-gate.ts').then(({ createMcpGate }) => createMcpGate(bridge, options))
  // Told by the first request.
  loading.catch(() => undefined)
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

/** Who asks, as the SDK hands it on. The token was used up before: nothing behind needs it. */
function authInfoOf(principal: Principal): AuthInfo {
  return { token: '', clientId: principal.id, scopes: [...principal.scopes], extra: { principal } }
}
