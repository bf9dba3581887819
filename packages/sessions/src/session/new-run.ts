import { AgentError, hashJson, parseInput, type AgentInput } from '@bowline/agent-loop'
import { runtimeParamsSchema, type JSONObject, type RuntimeParams, type UserMessage } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { checkInputId } from '../keys.ts'
import type { NewRun } from '../store/batch.ts'
import type { Lane, RunKind } from '../store/records.ts'
import type { SessionContext } from './context.ts'
import type { RunDriver } from './run-driver.ts'
import type { SendOptions } from './types.ts'

export interface NewInput extends SendOptions {
  readonly kind?: RunKind
  readonly lane?: Lane
  /** Whom the run waits for when this process is the first to execute it. */
  readonly driver?: RunDriver
}

/** An input as a run. Checked and copied at once, before anything is awaited. */
export function newRun({ ids, clock }: Pick<SessionContext, 'clock' | 'ids'>, input: AgentInput, options: NewInput): NewRun {
  const { id, kind = 'user', lane, notBefore, runtimeParams } = options
  if (id !== undefined) checkInputId(id)
  const body = messageOf(input) as unknown as NewRun['input']
  const params = runtimeParams === undefined ? undefined : (runtimeParamsOf(runtimeParams) as JSONObject & RuntimeParams)
  return {
    id: ids.next('run'),
    kind,
    ...(lane === undefined ? {} : { lane }),
    ...(id === undefined ? {} : { inputId: id }),
    ...(notBefore === undefined ? {} : { notBefore: checkTime(notBefore) }),
    ...(params === undefined ? {} : { options: { runtimeParams: params } }),
    inputHash: hashJson(params === undefined ? body : { input: body, runtimeParams: params }),
    input: body,
    at: clock.now(),
  }
}

function checkTime(notBefore: number): number {
  if (Number.isFinite(notBefore) && notBefore >= 0) return notBefore
  throw new SessionError('invalid-input', 'notBefore must be a time in milliseconds since 1970.')
}

function runtimeParamsOf(params: RuntimeParams): RuntimeParams {
  const parsed = runtimeParamsSchema.safeParse(params)
  if (parsed.success) return JSON.parse(JSON.stringify(parsed.data)) as RuntimeParams
  throw new SessionError('invalid-input', `runtimeParams: ${parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ')}`)
}

/** Copied at once, before anything is awaited. */
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
    throw new SessionError('invalid-input', error.message)
  }
}
