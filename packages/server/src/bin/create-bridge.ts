import type { RedactConfig } from '@bowline/llm'
import type { Bridge } from '@bowline/bridge'
import type { Runtime } from '@bowline/sessions'
import type { BridgeAgents } from '../config/server-config.ts'
import type { Logger } from '../options.ts'

export interface BridgeParts {
  readonly logger: Logger
  readonly redact?: RedactConfig
}

/** A bridge to agents of this runtime. Its code is loaded only for it. */
export async function createAgentsBridge({ agents, defaultAgent }: BridgeAgents, runtime: Runtime, parts: BridgeParts): Promise<Bridge> {
  const { createBridge, inProcessExecutor, runtimeAgent } = await import('@bowline/bridge')
  return createBridge({
    executors: [inProcessExecutor({ agents: agents.map((agent) => runtimeAgent(runtime, { agent })) })],
    ...(defaultAgent !== undefined && { defaultAgentId: defaultAgent }),
    ...parts,
  })
}

/** The same runtime. The server stops it when open streams have ended: then the bridge stops first, which needs the store. */
export function stoppedAfter(bridge: Bridge, runtime: Runtime): Runtime {
  return {
    ...runtime,
    async stop(options) {
      await bridge.stop()
      await runtime.stop(options)
    },
  }
}
