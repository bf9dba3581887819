import { SessionError } from '@bowline/sessions'
import type { BridgeResult, BridgeRun } from '../bridge-contract.ts'
import type { Core } from '../core.ts'
import { BridgeError } from '../errors.ts'
import { Attempt } from '../requests/attempt.ts'
import type { ActiveRequest, RequestRegistry } from '../requests/request-registry.ts'

/** Returns a text field of an unchecked input. */
export function textIn(input: unknown, name: string): string | undefined {
  const value = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>)[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Returns the run of a call that was refused and changed nothing. */
export function refusedRun(ids: { readonly requestId: string; readonly sessionId: string }, error: BridgeError): BridgeRun {
  const attempt = new Attempt()
  attempt.settle({ ok: false, error })
  return { ...ids, accepted: async () => false, result: () => attempt.result, [Symbol.asyncIterator]: () => attempt.open() }
}

export function tellRefusal({ observer }: Core, call: string, { code, details }: BridgeError): void {
  observer.notify({ type: 'refused', call, code, ...(details.reason !== undefined && { reason: details.reason }) })
}

/** Refuses the call of this entry, and with it all calls that joined it. */
export function refuseEntry(core: Core, registry: RequestRegistry, entry: ActiveRequest, error: unknown): void {
  const refusal = asTold(core, error)
  tellRefusal(core, entry.request.kind, refusal)
  entry.place?.release()
  registry.leave(entry, { ok: false, error: refusal })
}

/** Converts anything thrown to the error that the caller gets. */
export function asTold(core: Core, error: unknown): BridgeError {
  return BridgeError.isInstance(error) ? error : internalError(core, error)
}

export function internalError({ settings }: Core, cause: unknown): BridgeError {
  settings.logger.error({ cause }, 'the bridge failed')
  if (SessionError.isInstance(cause) && cause.code === 'store-unavailable') {
    return new BridgeError('TRANSPORT', 'The store does not answer', { details: { reason: cause.code, outcome: 'none' } })
  }
  return new BridgeError('INTERNAL', 'Internal error')
}

export function failed(error: BridgeError): BridgeResult {
  return { ok: false, error }
}
