import { createBridge, inProcessExecutor } from '@bowline/bridge'
import type { Bridge, BridgeAgent, BridgeLogger, BridgeOptions } from '@bowline/bridge'

export const quiet: BridgeLogger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

/** Agent that returns its prompt. */
export const echo = {
  specificationVersion: 'v1',
  info: { id: 'echo' },
  onPrompt: async ({ prompt }: { readonly prompt: string }) => ({ text: prompt, stopReason: 'end_turn' as const }),
} satisfies BridgeAgent

const many = 1_000_000

/** Starts a bridge with the echo agent in its own process. */
export async function startEcho(options: BridgeOptions = {}): Promise<Bridge> {
  const bridge = createBridge({ executors: [inProcessExecutor({ agents: [echo], maxSessions: many })], logger: quiet, ...options })
  await bridge.start()
  return bridge
}
