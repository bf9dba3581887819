import type { FieldChecks } from '@bowline/llm/arguments'
import type { Runtime } from '@bowline/sessions'
import { configChecks as check } from './arguments.ts'
import { serverChecks } from './executors/remote/remote-server.ts'
import type { RemoteServerOptions } from './executors/remote/remote-server.ts'
import { workerChecks } from './executors/worker/options.ts'
import type { WorkerOptions } from './executors/worker/options.ts'
import { bridgeOptionChecks } from './settings.ts'
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

const configFieldChecks: FieldChecks<BridgeConfig> = {
  ...bridgeOptionChecks,
  runtimes: check.listOf(check.requiredMethods('start', 'stop')),
  workers: check.listOf(check.record(workerChecks)),
  servers: check.listOf(check.record(serverChecks)),
}

/** Checks the configuration and returns it. Throws `CONFIG`. */
export function defineBridgeConfig(config: BridgeConfig): BridgeConfig {
  check.record(configFieldChecks)('defineBridgeConfig.config', config)
  return config
}
