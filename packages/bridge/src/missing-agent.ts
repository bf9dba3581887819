import { BridgeError } from './errors.ts'

const maxNamed = 20

/** The same for an agent that is hidden from the caller and for one that never was. `visible`: those that the caller may use. */
export function missingAgent(agentId: string, visible: readonly string[]): BridgeError {
  const named = visible.slice(0, maxNamed).join(', ')
  const more = visible.length > maxNamed ? ` and ${visible.length - maxNamed} more` : ''
  const advice = named === '' ? '' : `; there ${visible.length === 1 ? 'is' : 'are'} ${named}${more}`
  return new BridgeError('NOT_FOUND', `No agent ${agentId}${advice}`, { details: { agentId } })
}
