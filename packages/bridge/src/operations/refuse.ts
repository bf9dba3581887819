import { SessionError } from '@bowline/sessions'
import type { BridgeResult, BridgeRun } from '../bridge-contract.ts'
import type { Core } from '../core.ts'
import { BridgeError } from '../errors.ts'
import { Episode } from '../requests/episode.ts'
import type { BookEntry, RequestBook } from '../requests/request-book.ts'

/** A field of an input that may be anything. */
export function textIn(input: unknown, name: string): string | undefined {
  const value = typeof input === 'object' && input !== null ? (input as Readonly<Record<string, unknown>>)[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** What a call that changed nothing holds. */
export function refusedRun(ids: { readonly requestId: string; readonly sessionId: string }, error: BridgeError): BridgeRun {
  const episode = new Episode()
  episode.settle({ ok: false, error })
  return { ...ids, accepted: async () => false, result: () => episode.result, [Symbol.asyncIterator]: () => episode.open() }
}

export function tellRefusal({ observer }: Core, call: string, { code, details }: BridgeError): void {
  observer.notify({ type: 'refused', call, code, ...(details.reason !== undefined && { reason: details.reason }) })
}

/** The call of this entry changed nothing, and whoever joined it is told so too. */
export function refuseEntry(core: Core, book: RequestBook, entry: BookEntry, error: unknown): void {
  const refusal = asTold(core, error)
  tellRefusal(core, entry.request.kind, refusal)
  entry.place?.release()
  book.leave(entry, { ok: false, error: refusal })
}

/** What the caller is told of anything that was thrown. */
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
