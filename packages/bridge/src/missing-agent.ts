import { BridgeError } from './errors.ts'

const maxNamed = 20

/** The same for an agent that is hidden from the caller and for one that never was. `visible`: those that the caller may use. */
export function missingAgent(agentId: string, visible: readonly string[]): BridgeError {
  const advice = visible.length === 0 ? '' : `; there ${visible.length === 1 ? 'is' : 'are'} ${namesOf(visible)}`
  return new BridgeError('NOT_FOUND', `No agent ${agentId}${advice}`, { details: { agentId, reason: 'no-agent' } })
}

/** The first of them, as an error lists them. */
export function namesOf(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : ''
  return names.slice(0, maxNamed).join(', ') + more
}
