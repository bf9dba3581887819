import { toJsonValue } from '../json.ts'

const longestReason = 500

/** Returns the reason of an abort as a short text; a signal may carry any value. */
export function abortReasonOf(reason: unknown): string | undefined {
  if (reason === undefined) return undefined
  return textOf(reason).slice(0, longestReason)
}

function textOf(reason: unknown): string {
  try {
    const said: unknown = reason instanceof Error ? reason.message : reason
    return typeof said === 'string' ? said : JSON.stringify(toJsonValue(said))
  } catch {
    return 'a reason that cannot be read'
  }
}
