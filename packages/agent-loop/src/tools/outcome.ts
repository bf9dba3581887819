import type { JSONValue, ToolOutput } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { truth } from '../base/fields.ts'
import { copyJson } from '../base/json.ts'
import { statusOfOutput } from '../base/messages.ts'
import type { Tool } from '../contract/agent.ts'
import type { ToolReturnValue } from '../contract/tool.ts'
import type { ToolExecutionEndEvent } from '../events/tool-events.ts'
import type { OutcomeStatus } from '../events/turn-events.ts'
import { isReturnValue, modelOutputOf, outputOf } from './output.ts'

type Executed = ToolExecutionEndEvent['executed']

/** The outcome of a call, before it is made into a message. */
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

/** Returns the outcome for a value that a tool returned. A value that is not JSON makes it an error. Must not reject. */
export function returnedOutcome(tool: Tool | undefined, call: CallFacts, returned: unknown, executed: Executed): Promise<Outcome> {
  const isLong = isReturnValue(returned)
  return valueOutcome(tool, call, isLong ? returned : { output: returned as JSONValue }, executed, isLong ? ['output'] : [])
}

/** As `returnedOutcome`, for a value in its long form. `at` is the path of the output in the returned value. */
export async function valueOutcome(
  tool: Tool | undefined,
  call: CallFacts,
  value: ToolReturnValue,
  executed: Executed,
  at: readonly string[] = ['output'],
): Promise<Outcome> {
  try {
    const { output = 'done', details, ...flags } = value
    const [isError, terminate] = [truth(flags, 'isError') === true, truth(flags, 'terminate') === true]
    const given = { output, ...(details !== undefined && { details }), ...flags }
    return {
      status: isError ? 'error' : 'result',
      executed,
      output: tool?.toModelOutput && !isError ? modelOutputOf(await tool.toModelOutput(given, call)) : outputOf(output, isError, at),
      ...(details !== undefined && { details: detailsOf(details) }),
      ...(terminate && { terminate }),
    }
  } catch (error) {
    const what = executed === 'here' ? 'the tool has run, but its output' : 'the output of the tool'
    return errorOutcome(`${what} cannot be used: ${messageOf(error)}`, executed)
  }
}

function detailsOf(given: unknown): JSONValue {
  const details = copyJson(given, ['details'])
  const { length } = JSON.stringify(details)
  return length <= detailsCharacters ? details : `[… ${length} characters left out …]`
}

/** Returns the outcome for a result that came with the answer. */
export function givenOutcome(given: {
  readonly output: Outcome['output']
  readonly status?: Outcome['status']
  readonly details?: JSONValue
}): Outcome {
  const { output, status, details } = given
  return {
    status: status ?? (statusOfOutput(output) === 'result' ? 'result' : 'error'),
    executed: 'elsewhere',
    output,
    ...(details !== undefined && { details }),
  }
}
