import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks as check } from './arguments.ts'
import { infoChecks, providerChecks } from './check-agent.ts'
import { BridgeError } from './errors.ts'
import type { DiscoveredAgent } from './executors/executor.ts'

/** An agent that cannot be listed, with the reason. */
export interface LeftOutAgent {
  readonly id: string
  readonly reason: string
}

export interface Looked {
  readonly agents: readonly DiscoveredAgent[]
  readonly leftOut: readonly LeftOutAgent[]
}

const agentChecks: FieldChecks<DiscoveredAgent> = {
  ...infoChecks,
  capabilities: check.requiredList(check.checkName),
  status: check.required(check.oneOf('ready', 'busy', 'starting', 'unavailable')),
  reason: check.checkText,
  durable: check.checkBoolean,
  resumable: check.checkBoolean,
  // Unknown fields are allowed: a later version may add some.
  providers: check.listOf((path, provider) => {
    check.checkRequired(path, provider, 'an object', (given) => typeof given === 'object' && given !== null)
    for (const [name, checkField] of Object.entries(providerChecks))
      checkField(`${path}.${name}`, (provider as Readonly<Record<string, unknown>>)[name])
  }),
}

/** Checks each agent separately, because other processes may send anything. One invalid agent must not hide the others. */
export function sortedOut(given: readonly DiscoveredAgent[]): Looked {
  const agents: DiscoveredAgent[] = []
  const leftOut: LeftOutAgent[] = []
  for (const agent of given) {
    const reason = faultOf(agent)
    if (reason === undefined) agents.push(agent)
    else leftOut.push({ id: String(agent?.id), reason })
  }
  return { agents, leftOut }
}

function faultOf(agent: DiscoveredAgent): string | undefined {
  try {
    check.checkRequired('agent', agent, 'an object', (given) => typeof given === 'object' && given !== null)
    for (const [name, checkField] of Object.entries(agentChecks))
      checkField(name, (agent as unknown as Readonly<Record<string, unknown>>)[name])
    return undefined
  } catch (error) {
    if (!BridgeError.isInstance(error)) throw error
    return error.message
  }
}
