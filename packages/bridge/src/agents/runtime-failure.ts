import { SessionError } from '@bowline/sessions'
import type { SessionErrorCode } from '@bowline/sessions'
import { BridgeError } from '../errors.ts'
import type { BridgeErrorCode } from '../errors.ts'

const codeBySessionError: Readonly<Partial<Record<SessionErrorCode, BridgeErrorCode>>> = {
  'unknown-agent': 'CONFIG',
  'agent-mismatch': 'CONFIG',
  'invalid-config': 'CONFIG',
  'invalid-input': 'PROTOCOL',
  'id-reused': 'PROTOCOL',
  'tool-result-conflict': 'PROTOCOL',
  'approval-conflict': 'PROTOCOL',
  'unknown-tool-call': 'NOT_FOUND',
  'unknown-approval': 'NOT_FOUND',
  'unknown-run': 'NOT_FOUND',
  'session-missing': 'NOT_FOUND',
  'session-deleted': 'NOT_FOUND',
  'session-expired': 'EXPIRED',
  'entry-too-large': 'CAPACITY',
  'queue-full': 'CAPACITY',
  'store-full': 'CAPACITY',
  busy: 'BUSY',
}

/** Errors after which no prompt can succeed in this session. */
const endsSession: ReadonlySet<SessionErrorCode> = new Set(['session-missing', 'session-deleted', 'session-expired', 'agent-mismatch'])

/** Operation in which the runtime failed. */
export type RuntimeStep = 'prompt' | 'answers' | 'events' | 'close'

const failedAt: Readonly<Record<RuntimeStep, { readonly what: string; readonly outcome: 'none' | 'unknown' }>> = {
  prompt: { what: 'did not accept the prompt', outcome: 'none' },
  answers: { what: 'did not accept the answers', outcome: 'none' },
  events: { what: 'failed while its events were read', outcome: 'unknown' },
  close: { what: 'could not be closed', outcome: 'unknown' },
}

/** Messages of the runtime may contain file names of this machine. So only its error code and the ids that it refused are passed on. */
export function throwRuntimeFailure(agentId: string, step: RuntimeStep): (error: unknown) => never {
  return (error) => {
    if (!SessionError.isInstance(error)) throw error
    const { code, retryable, refused } = error
    const { what, outcome } = failedAt[step]
    throw new BridgeError(codeBySessionError[code] ?? 'UPSTREAM', `Agent ${agentId} ${what}: ${code}`, {
      retryable: retryable || code === 'busy' || code === 'queue-full',
      details: {
        agentId,
        reason: code,
        outcome,
        ...(endsSession.has(code) && { sessionValid: false }),
        ...(refused && { issues: refused.map((each) => ({ path: 'answers', id: each.id, message: each.code })) }),
      },
    })
  }
}
