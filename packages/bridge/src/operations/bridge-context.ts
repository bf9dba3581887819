import type { AgentDirectory, FoundAgent } from '../agent-directory.ts'
import type { BridgeAction } from '../bridge-contract.ts'
import type { Core } from '../core.ts'
import { BridgeError } from '../errors.ts'
import { missingAgent } from '../missing-agent.ts'
import type { AdmissionQueue } from '../requests/admission-queue.ts'
import type { RequestRegistry } from '../requests/request-registry.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'

/** Shared parts with which the operations of a bridge work. */
export interface BridgeContext {
  readonly core: Core
  readonly directory: AgentDirectory
  readonly sessions: SessionRegistry
  readonly registry: RequestRegistry
  readonly admission: AdmissionQueue
  /** Returns true between `start` and `stop`. */
  isRunning(): boolean
  /** Throws unless the bridge is running. */
  checkRunning(): void
}

/** Finds an agent. Throws the same error for an agent that this owner may not use as for one that does not exist. */
export function findAgent(
  { core, directory }: BridgeContext,
  owner: string,
  action: BridgeAction,
  agentId: string | undefined,
): FoundAgent {
  const isVisible = (id: string): boolean => core.settings.authorize(owner, action, id)
  const found = directory.find(agentId, isVisible)
  const { id } = found.agent
  if (isVisible(id)) return found
  throw missingAgent(
    id,
    directory
      .list()
      .map((agent) => agent.id)
      .filter(isVisible),
  )
}

export function missingRequest(requestId: string): BridgeError {
  return new BridgeError('NOT_FOUND', 'Request not found', { details: { requestId, reason: 'no-request' } })
}
