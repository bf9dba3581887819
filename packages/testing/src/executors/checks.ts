import { fieldChecks } from '@bowline/llm/arguments'
import { BridgeError } from '@bowline/bridge'

/** Checks of options. A violation is `CONFIG`. */
export const configChecks = fieldChecks((message) => new BridgeError('CONFIG', message))
