import type { Runtime } from '@bowline/sessions'
import { configChecks as check } from './arguments.ts'
import { serverChecks } from './executors/remote/remote-server.ts'
import type { RemoteServerOptions } from './executors/remote/remote-server.ts'
import { checkWorker } from './executors/worker/options.ts'
import type { WorkerOptions } from './executors/worker/options.ts'
import { bridgeOptionChecks } from './settings.ts'
import type { BridgeOptions } from './settings.ts'

/** Configuration of `bowline-bridge --config FILE`: the default export of the file, or its JSON. */
export interface BridgeConfig extends BridgeOptions {
  /** Started in order before the bridge, stopped in reverse order after it. */
  readonly runtimes?: readonly Runtime[]
  /**
   * Worker programs whose agents are served. Order: `executors`, these, then the workers of the command line. Default working
   * directory: the folder of this file.
   */
  readonly workers?: readonly WorkerOptions[]
  /** Other Bowline servers whose agents are served, listed after all workers. */
  readonly servers?: readonly RemoteServerOptions[]
}

export const checkConfig = check.record<BridgeConfig>({
  ...bridgeOptionChecks,
  runtimes: check.listOf(check.requiredMethods('start', 'stop')),
  workers: check.listOf(checkWorker),
  servers: check.listOf(check.record(serverChecks)),
})

/** Checks the configuration and returns it. Throws `CONFIG`. */
export function defineBridgeConfig(config: BridgeConfig): BridgeConfig {
  checkConfig('defineBridgeConfig.config', config)
  return config
}
