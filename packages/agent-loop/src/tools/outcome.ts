import type { JSONValue, ToolOutput } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import type { OutcomeStatus, ToolExecutionEndEvent } from '../events/types.ts'
import { copyJson } from '../json.ts'
import { modelOutputOf, outputOf, returnValueOf } from './output.ts'
import type { Tool } from './tool.ts'

type Executed = ToolExecutionEndEvent['executed']

/** What became of a call, before it is made into a message. */
export interface Outcome {
  readonly status: OutcomeStatus
  readonly executed: Executed
  readonly output: ToolOutput
  readonly details?: JSONValue
  readonly terminate?: true
}

interface CallFacts {
  readonly toolCallId: string
  readonly input: JSONValue
}

const detailsCharacters = 1_000_000

export function errorOutcome(message: string, executed: Executed): Outcome {
  return { status: 'error', executed, output: { type: 'error-text', value: message } }
}

export function cancelledOutcome(reason: string, executed: Executed): Outcome {
  return { status: 'cancelled', executed, output: { type: 'error-text', value: `not run: ${reason}` } }
}

export function deniedOutcome(reason: string): Outcome {
  return { status: 'denied', executed: 'no', output: { type: 'execution-denied', reason } }
}

export function unknownOutcome(reason: string, executed: Executed): Outcome {
  const value = `may or may not have happened: ${reason}`
  return { status: 'unknown', executed, output: { type: 'error-text', value } }
}

/** Of what a tool returned, or somebody submitted. What is not JSON makes an error of it. */
export async function returnedOutcome(
  tool: Tool | undefined,
  call: CallFacts,
  returned: unknown,
  executed: Executed,
): Promise<Outcome> {
  try {
    const value = returnValueOf(returned)
    const isError = value.isError === true
    const output = tool?.toModelOutput && !isError ? modelOutputOf(await tool.toModelOutput(value, call)) : outputOf(value.output, isError)
    return {
      status: isError ? 'error' : 'result',
      executed,
      output,
      ...(value.details !== undefined && { details: detailsOf(value.details) }),
      ...(value.terminate === true && { terminate: true }),
    }
  } catch (error) {
    return errorOutcome(`the output of the tool cannot be used: ${messageOf(error)}`, executed)
  }
}

function detailsOf(given: unknown): JSONValue {
  const details = copyJson(given)
  const { length } = JSON.stringify(details)
  return length <= detailsCharacters ? details : `[… ${length} characters left out …]`
}
