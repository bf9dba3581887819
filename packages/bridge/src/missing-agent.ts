import { BridgeError } from './errors.ts'

const maxNamed = 20

/** Returns the same error for a hidden agent and one that does not exist. `visible`: ids of the agents that the caller may use. */
export function missingAgent(agentId: string, visible: readonly string[]): BridgeError {
  const advice = visible.length === 0 ? '' : `; there ${visible.length === 1 ? 'is' : 'are'} ${namesOf(visible)}`
  return new BridgeError('NOT_FOUND', `No agent ${agentId}${advice}`, { details: { agentId, reason: 'no-agent' } })
}

/** Joins the first names for a message, with the number of the others. */
export function namesOf(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''
  return names.slice(0, maxNamed).join(', ') + more
}
