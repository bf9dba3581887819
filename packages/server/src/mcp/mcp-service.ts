import type { Bridge } from '@bowline/bridge'
import { missingPackage } from '@bowline/llm/arguments'
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server'
import type { Principal } from '../auth/principal.ts'
import { ServerError } from '../server-error.ts'

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

const withoutSdk = missingPackage('@modelcontextprotocol/server', (message) => new ServerError('invalid-config', `bridge ${message}`))

/** Creates the MCP service. The SDK is loaded here, because most servers have no bridge. */
export function createMcpService(bridge: Bridge, options: McpOptions): McpService {
  const loading = openGate(bridge, options)
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

/** `catch` is on the import itself, so that bundlers accept that the SDK is missing. */
async function openGate(bridge: Bridge, options: McpOptions): Promise<McpHttpHandler> {
  const sdk = await import('@modelcontextprotocol/server').catch(withoutSdk)
  const { createMcpGate } = await import('./mcp-gate.ts')
  return createMcpGate(sdk, bridge, options)
}

/** Returns the caller in the form of the SDK. The token is not passed on: it has been checked. */
function authInfoOf(principal: Principal): AuthInfo {
  return { token: '', clientId: principal.id, scopes: [...principal.scopes], extra: { principal } }
}
