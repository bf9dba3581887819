import type { AgentDirectory, FoundAgent } from '../agent-directory.ts'
import type { BridgeAction } from '../bridge-contract.ts'
import type { Core } from '../core.ts'
import { BridgeError } from '../errors.ts'
import { missingAgent } from '../missing-agent.ts'
import type { AdmissionQueue } from '../requests/admission-queue.ts'
import type { RequestBook } from '../requests/request-book.ts'
import type { SessionRegistry } from '../sessions/session-registry.ts'

/** What the operations of a bridge work with. */
export interface Desk {
  readonly core: Core
  readonly directory: AgentDirectory
  readonly sessions: SessionRegistry
  readonly book: RequestBook
  readonly admission: AdmissionQueue
  /** From `start` until `stop`. */
  isRunning(): boolean
  /** Throws unless the bridge runs. */
  checkRunning(): void
}

/** An agent that this owner may use so. To others it is not there. */
export function findAgent({ core, directory }: Desk, owner: string, action: BridgeAction, agentId: string | undefined): FoundAgent {
  const isVisible = (id: string): boolean => core.settings.authorize(owner, action, id)
  const found = directory.find(agentId, isVisible)
  const { id } = found.agent
  if (isVisible(id)) return found
  throw missingAgent(id, directory.list().map((agent) => agent.id).filter(isVisible))
}

export function missingRequest(requestId: string): BridgeError {
  return new BridgeError('NOT_FOUND', 'Request not found', { details: { requestId, reason: 'no-request' } })
}
