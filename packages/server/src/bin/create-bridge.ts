import type { RedactConfig } from '@bowline/llm'
import type { Bridge, BridgeLogger } from '@bowline/bridge'
import type { Runtime } from '@bowline/sessions'
import { missingFor } from '../config/config-error.ts'
import type { BridgeAgents } from '../config/server-config.ts'

export interface BridgeParts {
  readonly logger: BridgeLogger
  readonly redact?: RedactConfig
}

/** Creates a bridge to agents of this runtime. Its code is loaded only if it is used. */
export async function createAgentsBridge({ agents, defaultAgent }: BridgeAgents, runtime: Runtime, parts: BridgeParts): Promise<Bridge> {
  await loadMcpSdk()
  const { createBridge, inProcessExecutor, runtimeAgent } = await import('@bowline/bridge')
  return createBridge({
    executors: [inProcessExecutor({ agents: agents.map((agent) => runtimeAgent(runtime, { agent })) })],
    ...(defaultAgent !== undefined && { defaultAgentId: defaultAgent }),
    ...parts,
  })
}

/** Loads the SDK for MCP clients, an optional peer. */
export async function loadMcpSdk(): Promise<void> {
  await import('@modelcontextprotocol/server').catch(missingFor('bridge', '@modelcontextprotocol/server'))
}

/**
 * Returns the runtime with a `stop` that first stops the bridge, which needs the store. The server calls `stop` after open streams
 * have ended.
 */
export function stoppedAfter(bridge: Bridge, runtime: Runtime): Runtime {
  return {
    ...runtime,
    async stop(options) {
      await bridge.stop()
      await runtime.stop(options)
    },
  }
}
