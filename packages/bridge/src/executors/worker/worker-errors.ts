import { BridgeError } from '../../errors.ts'
import { bridgeErrorOf, isRequestError } from '../../worker/wire-error.ts'

/** Returns the worker's own error, or an error that says that the worker is gone. */
export function callError(error: unknown, id: string, outcome: 'none' | 'unknown'): Error {
  if (BridgeError.isInstance(error)) return error
  if (isRequestError(error)) return bridgeErrorOf(error, { agentId: id })
  return new BridgeError('TRANSPORT', `Worker ${id} was lost`, { details: { agentId: id, reason: 'worker-lost', outcome } })
}

/** Returns the error of a prompt or an idle session whose process was lost. */
export function lostError(id: string, reason: string, facts: { readonly durable: boolean; readonly sessionValid: boolean }): BridgeError {
  return new BridgeError('TRANSPORT', `Worker ${id} was lost: ${reason}`, {
    retryable: facts.durable,
    details: { agentId: id, reason: 'worker-lost', outcome: 'unknown', sessionValid: facts.sessionValid },
  })
}

export function notResumable(id: string): BridgeError {
  return new BridgeError('CONFIG', `Agent ${id} cannot resume an earlier conversation`, {
    details: { agentId: id, reason: 'not-resumable' },
  })
}

/** Returns the error of a session that could not be reopened in the new process. */
export function notReopened(error: unknown, id: string): Error {
  const failure = callError(error, id, 'none')
  if (!BridgeError.isInstance(failure)) return failure
  const { code, message, retryable, details } = failure
  return new BridgeError(code, message, { retryable, details: { ...details, sessionValid: false } })
}
