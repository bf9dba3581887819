import { versionCheck, type ArgumentCheck } from '@bowline/llm/arguments'
import manifest from '../package.json' with { type: 'json' }

// For the other packages of Bowline. Users should not import it: any version except a patch may change it.
export { checkJournal } from './base/checks.ts'
export { copyJson, isRecord, NotJsonError } from './base/json.ts'
export { clientCalls } from './base/messages.ts'
export { sumCost, sumUsage } from './events/spending.ts'

/** Creates a check that refuses agents of another version of this package. */
export function agentVersionCheck(refuse: (message: string) => Error): ArgumentCheck {
  return versionCheck(manifest, refuse)
}
