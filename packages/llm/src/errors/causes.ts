import { field } from '../json.ts'
import { readFacts, type ErrorFacts } from './shapes.ts'

const deepestCause = 8

/** Reads the facts of an error and its causes, without cycles. The cause of a retry or aggregate error is the error that it wraps. */
export function causesOf(error: unknown): readonly [ErrorFacts, ...ErrorFacts[]] {
  const chain: [ErrorFacts, ...ErrorFacts[]] = [readFacts(error)]
  const seen = new Set([error])
  let cause = wrappedBy(error)
  while (cause !== undefined && chain.length < deepestCause && !seen.has(cause)) {
    seen.add(cause)
    chain.push(readFacts(cause))
    cause = wrappedBy(cause)
  }
  return chain
}

function wrappedBy(error: unknown): unknown {
  const errors = field(error, 'errors')
  return field(error, 'lastError') ?? (Array.isArray(errors) ? (errors as unknown[])[0] : undefined) ?? field(error, 'cause') ?? undefined
}
