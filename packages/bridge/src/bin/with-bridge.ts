import type { Runtime } from '@bowline/sessions'
import type { Bridge } from '../bridge-contract.ts'
import { createBridge } from '../bridge.ts'
import { stderrLogger } from '../logger.ts'
import type { BridgeOptions } from '../settings.ts'
import type { CommandLine } from './command-line.ts'
import { loadConfig } from './load-config.ts'
import { atLevel } from './log-level.ts'

/** Starts what the configuration says, lets `work` use the bridge, and stops what runs. */
export async function withBridge(line: CommandLine, folder: string, work: (bridge: Bridge) => Promise<void>): Promise<void> {
  const { runtimes = [], ...options } = await loadConfig(line.configFile, folder)
  const bridge = createBridge(withFlags(options, line))
  const started: Runtime[] = []
  try {
    for (const runtime of runtimes) {
      await runtime.start()
      started.push(runtime)
    }
    await bridge.start()
    await work(bridge).finally(() => bridge.stop())
  } finally {
    for (const runtime of started.reverse()) await runtime.stop()
  }
}

/** What was said on the command line wins. */
function withFlags(options: BridgeOptions, { defaultAgentId, logLevel }: CommandLine): BridgeOptions {
  return {
    ...options,
    logger: atLevel(options.logger ?? stderrLogger(), logLevel),
    ...(defaultAgentId !== undefined && { defaultAgentId }),
  }
}
