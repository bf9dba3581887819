import { toJsonValue } from '../json.ts'

const longestReason = 500

/** Why a call was aborted, as short text: any value may stand in a signal. */
export function abortReasonOf(reason: unknown): string | undefined {
  if (reason === undefined) return undefined
  return textOf(reason).slice(0, longestReason)
}

function textOf(reason: unknown): string {
  if (typeof reason === 'string') return reason
  try {
    return reason instanceof Error ? reason.message : JSON.stringify(toJsonValue(reason))
  } catch {
    return 'a reason that cannot be read'
  }
}
