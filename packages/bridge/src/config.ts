import type { Runtime } from '@bowline/sessions'
import type { BridgeOptions } from './settings.ts'

/** What `bowline-bridge --config FILE` serves: the default export of the file. */
export interface BridgeConfig extends BridgeOptions {
  /** Started in order before the bridge, stopped in reverse order after it. */
  readonly runtimes?: readonly Runtime[]
}

/** Gives the configuration back, with its type checked. */
export function defineBridgeConfig(config: BridgeConfig): BridgeConfig {
  return config
}
