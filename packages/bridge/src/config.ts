import type { Runtime } from '@bowline/sessions'
import type { RemoteServerOptions } from './executors/remote/remote-server.ts'
import type { WorkerOptions } from './executors/worker/options.ts'
import type { BridgeOptions } from './settings.ts'

/** What `bowline-bridge --config FILE` serves: the default export of the file, or a file that is JSON. */
export interface BridgeConfig extends BridgeOptions {
  /** Started in order before the bridge, stopped in reverse order after it. */
  readonly runtimes?: readonly Runtime[]
  /** After `executors`, those of the command line after them. Their folder is that of the file, unless they name one. */
  readonly workers?: readonly WorkerOptions[]
  /** After all workers. */
  readonly servers?: readonly RemoteServerOptions[]
}

/** Gives the configuration back, with its type checked. */
export function defineBridgeConfig(config: BridgeConfig): BridgeConfig {
  return config
}
