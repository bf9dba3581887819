import { AgentError, hashJson, parseInput, type AgentInput } from '@bowline/agent-loop'
import type { JSONObject, UserMessage } from '@bowline/llm'
import { sentence } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { NewRun } from '../contract/batch.ts'
import type { Lane, RunKind, RunOptionsRecord } from '../contract/records.ts'
import type { SessionContext } from './context.ts'
import type { RunDriver } from './run-driver.ts'
import { outputSchemaOf, runtimeParamsOf } from './settings.ts'
import type { SendOptions } from './types.ts'

export interface NewInput extends SendOptions {
  readonly kind?: RunKind
  readonly lane?: Lane
  /** Reader for which the run waits if this process is the first to execute it. */
  readonly driver?: RunDriver
}

/** Creates a run from an input. Checks and copies it before anything is awaited. */
export function newRun({ ids, clock }: Pick<SessionContext, 'clock' | 'ids'>, input: AgentInput, options: NewInput): NewRun {
  const { id, kind = 'user', lane, notBefore } = options
  const body = messageOf(input) as unknown as NewRun['input']
  const own = storedOptions(options)
  return {
    id: ids.next('run'),
    kind,
    ...(lane === undefined ? {} : { lane }),
    ...(id === undefined ? {} : { inputId: id }),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(own && { options: own }),
    inputHash: hashJson(own ? { input: body, ...own } : body),
    input: body,
    at: clock.now(),
  }
}

/** Returns the run's own options, or undefined if it has none. */
function storedOptions({
  runtimeParams,
  output,
}: NewInput): { readonly [Name in keyof RunOptionsRecord]: JSONObject & RunOptionsRecord[Name] } | undefined {
  if (runtimeParams === undefined && output === undefined) return undefined
  const [params, schema] = [runtimeParamsOf('runtimeParams', runtimeParams), outputSchemaOf('output', output)]
  return { ...(params && { runtimeParams: params }), ...(schema && { output: schema }) }
}

/** Copies the message before anything is awaited. */
export function messageOf(input: AgentInput): UserMessage {
  const message = parsed(input)
  if (!('role' in message)) {
    throw new SessionError('invalid-input', 'Answers are no input of send: use submitToolResults.')
  }
  return message
}

function parsed(input: AgentInput): ReturnType<typeof parseInput> {
  try {
    return parseInput(input)
  } catch (error) {
    if (!AgentError.isInstance(error)) throw error
    throw new SessionError('invalid-input', sentence(error.message))
  }
}
