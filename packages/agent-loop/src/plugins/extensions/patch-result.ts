import type { JSONValue, ToolOutput } from '@bowline/llm'
import { isToolOutput } from '../../base/messages.ts'
import type { HookedResult, ResultPatch } from '../../contract/extension.ts'
import type { OutcomeStatus } from '../../events/turn-events.ts'
import { outputOf } from '../../tools/output.ts'

const outputKeys = ['type', 'value', 'reason']

/** A result with the fields of a patch in the place of its own. */
export function patchResult(result: HookedResult, patch: ResultPatch): HookedResult {
  const status = patch.status ?? statusOf(result.status, patch.isError)
  const same = patch.output === undefined && status === result.status
  return Object.freeze({
    ...result,
    status,
    output: same ? result.output : outputFor(status, patch.output ?? rawOf(result.output)),
    ...(patch.details !== undefined && { details: patch.details }),
    ...(patch.terminate !== undefined && { terminate: patch.terminate }),
  })
}

/** `isError` says which of the two outcomes of a call that ran it was; it does not make a denied call one that ran. */
function statusOf(status: OutcomeStatus, isError: boolean | undefined): OutcomeStatus {
  if (isError === undefined || (status !== 'result' && status !== 'error')) return status
  return isError ? 'error' : 'result'
}

/** What was read from a result may be handed back in the form that the result has. */
function outputFor(status: OutcomeStatus, given: JSONValue): ToolOutput {
  const raw = isWholeOutput(given) ? rawOf(given) : given
  if (status === 'denied' && typeof raw === 'string') return { type: 'execution-denied', reason: raw }
  return outputOf(raw, status !== 'result')
}

function rawOf(output: ToolOutput): JSONValue {
  switch (output.type) {
    case 'text':
    case 'error-text':
    case 'json':
    case 'error-json':
      return output.value
    case 'content':
      return output as unknown as JSONValue
    case 'execution-denied':
      return output.reason ?? 'denied'
    default: {
      const unknown: never = output
      return unknown
    }
  }
}

/** With other fields beside those of a tool output it is the extension's own JSON. */
function isWholeOutput(given: JSONValue): given is JSONValue & ToolOutput {
  return isToolOutput(given) && Object.keys(given).every((key) => outputKeys.includes(key))
}
