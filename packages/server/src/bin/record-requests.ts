import { AgentError, withExtensions, type Agent } from '@bowline/agent-loop'
import type { SessionStore } from '@bowline/sessions'
import { recordRequests, type RequestRecorder } from '@bowline/sessions/requests'
import { ConfigError } from '../config/config-error.ts'
import type { ResolvedConfig } from '../config/resolve-config.ts'
import { sectionOf } from './server-options.ts'

export interface RecordedAgents {
  readonly agents: readonly Agent[]
  /** Recorder for the runtime and the server. Absent if no requests are recorded. */
  readonly requests?: RequestRecorder
}

/** Returns the agents, with a recorder if the configuration asks for it. Throws if an agent has its own recorder. */
export function recordedAgents(agents: readonly Agent[], store: SessionStore, { values }: Pick<ResolvedConfig, 'values'>): RecordedAgents {
  const { record, ...bounds } = sectionOf(values, 'requests')
  if (!record) return { agents }
  const requests = recordRequests({ store, ...bounds })
  try {
    return { agents: agents.map((agent) => withExtensions(agent, [requests.extension])), requests }
  } catch (error) {
    if (!AgentError.isInstance(error)) throw error
    throw new ConfigError([{ path: 'requests.record', message: `an agent cannot be recorded: ${error.message}` }], error)
  }
}
