import type { Runtime } from '@bowline/sessions'
import type { Bridge } from '../bridge-contract.ts'
import { createBridge } from '../bridge.ts'
import type { BridgeConfig } from '../config.ts'
import type { BridgeExecutor } from '../executors/executor.ts'
import { atLevel, stderrLogger } from '../logger.ts'
import type { CommandLine } from './command-line.ts'
import { loadConfig } from './load-config.ts'
import type { ConfigPlace } from './load-config.ts'

/** Starts the configured parts, calls `work` with the bridge, and stops what was started. */
export async function withBridge(line: CommandLine, folder: string, work: (bridge: Bridge) => Promise<void>): Promise<void> {
  const { config, place } = await loadConfig(line.configFile, folder)
  const { runtimes = [], workers = [], ...parts } = config
  const flagged = line.workers.map((worker) => ({ ...worker, cwd: folder }))
  const bridge = await makeBridge({ ...parts, workers: [...workers, ...flagged] }, line, place)
  const started: Runtime[] = []
  try {
    for (const runtime of runtimes) {
      await runtime.start()
      started.push(runtime)
    }
    await bridge.start()
    try {
      await work(bridge)
    } finally {
      await bridge.stop()
    }
  } finally {
    for (const runtime of started.reverse()) await runtime.stop()
  }
}

/** The command has a single owner, so limits per owner do not apply. */
const allForOneOwner = {
  maxInFlightPerOwner: Number.MAX_SAFE_INTEGER,
  maxQueuedPerOwner: Number.MAX_SAFE_INTEGER,
  maxSessionsPerOwner: Number.MAX_SAFE_INTEGER,
}

type Parts = Omit<BridgeConfig, 'runtimes'>

/** Creates the bridge. Options of the command line override the configuration file. */
async function makeBridge({ workers = [], servers = [], ...options }: Parts, line: CommandLine, place: ConfigPlace): Promise<Bridge> {
  const { defaultAgentId, logLevel } = line
  return createBridge({
    ...allForOneOwner,
    ...options,
    executors: [...(options.executors ?? []), ...(await workersOf(workers, place)), ...(await serversOf(servers, place))],
    logger: atLevel(options.logger ?? stderrLogger(), logLevel),
    ...(defaultAgentId !== undefined && { defaultAgentId }),
  })
}

/** Loads this code only if needed, to shorten the start. */
async function workersOf(workers: Required<Parts>['workers'], place: ConfigPlace): Promise<readonly BridgeExecutor[]> {
  if (workers.length === 0) return []
  const { workersIn } = await import('../executors/worker.ts')
  return [workersIn(place, { workers })]
}

async function serversOf(servers: Required<Parts>['servers'], { path }: ConfigPlace): Promise<readonly BridgeExecutor[]> {
  if (servers.length === 0) return []
  const { serversIn } = await import('../executors/remote/remote-executor.ts')
  return [serversIn(path, { servers })]
}
