import { createHash } from 'node:crypto'
import { canonicalJson } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'
import type { ArgumentCheck, FieldChecks } from '@bowline/llm/arguments'
import type { z } from 'zod'
import { callChecks } from '../arguments.ts'
import type { Bridge, CancelInput, CloseInput, CreateSessionInput, DelegateInput, DepthOption } from '../bridge-contract.ts'
import type { OwnerOption, PromptInput, RequestFilter, RequestOptions, RequestQuery, SessionFilter } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { readCursor } from './list-cursor.ts'
import { invalidInput, issuesWith } from './issues.ts'
import type { InputIssue } from './issues.ts'
import {
  cancelInputSchema,
  closeInputSchema,
  createInputSchema,
  delegateInputSchema,
  listInputSchema,
  promptInputSchema,
  requestListInputSchema,
} from './schemas.ts'

export interface InputLimits {
  readonly maxPromptBytes: number
  readonly maxMetadataBytes: number
  readonly maxTimeoutMs: number
}

/** Checks the input alone. Throws `PROTOCOL` for a wrong shape and `CAPACITY` for a size over the limit. */
export function checkDelegateInput(input: DelegateInput, limits: InputLimits): void {
  checkFields(
    'delegate.input',
    input,
    { schema: delegateInputSchema, options: { ...ownerOption, ...lineageOptions, ...signalOption } },
    requestIssues(input, limits),
  )
  checkSizes(input, limits)
}

export function checkPromptInput(input: PromptInput, limits: InputLimits): void {
  checkFields(
    'prompt.input',
    input,
    { schema: promptInputSchema, options: { ...ownerOption, ...signalOption } },
    promptIssues(input, limits),
  )
  checkSizes({ ...input, prompt: input.prompt ?? JSON.stringify(input.answers) }, limits)
}

export function checkCreateInput(input: CreateSessionInput, limits: InputLimits): void {
  checkFields('createSession.input', input, { schema: createInputSchema, options: { ...ownerOption, ...lineageOptions } })
  checkSizes({ ...(input.metadata && { metadata: input.metadata }) }, limits)
}

export function checkCancelInput(input: CancelInput): void {
  checkFields('cancel.input', input, { schema: cancelInputSchema, options: ownerOption }, cancelIssues(input))
}

export function checkCloseInput(input: CloseInput): void {
  checkFields('close.input', input, { schema: closeInputSchema, options: ownerOption })
}

export function checkSessionFilter(filter: SessionFilter): void {
  checkFields('sessions.filter', filter, { schema: listInputSchema, options: ownerOption }, listIssues(filter))
}

export function checkRequestFilter(filter: RequestFilter): void {
  checkFields('requests.filter', filter, { schema: requestListInputSchema, options: ownerOption }, listIssues(filter))
}

const ownerOption: FieldChecks<OwnerOption> = { owner: callChecks.optionalName }
const lineageOptions: FieldChecks<DepthOption> = { depth: callChecks.whole(0), path: callChecks.listOf(callChecks.checkName) }
const signalOption: FieldChecks<Pick<RequestOptions, 'abortSignal'>> = { abortSignal: callChecks.checkSignal }

export const checkHealthOptions = callChecks.record(ownerOption)
export const checkDiscoverQuery = callChecks.record<NonNullable<Parameters<Bridge['discover']>[0]>>({
  ...ownerOption,
  capability: callChecks.optionalName,
})
export const checkSessionOptions = callChecks.record(ownerOption)
export const checkRequestQuery = callChecks.record<RequestQuery>({ ...ownerOption, ...signalOption, waitMs: callChecks.whole(0) })
export const checkRefreshOptions = callChecks.record<NonNullable<Parameters<Bridge['refresh']>[0]>>({ waitMs: callChecks.whole(0) })
export const checkStopOptions = callChecks.record<NonNullable<Parameters<Bridge['stop']>[0]>>({ deadlineMs: callChecks.whole(0) })

interface FieldRules {
  /** Schema of the fields that calls over MCP also have. */
  readonly schema: z.ZodObject
  /** Options that only code can pass. */
  readonly options: Readonly<Record<string, ArgumentCheck>>
}

/** Throws `PROTOCOL` with all issues. */
function checkFields(path: string, input: object, { schema, options }: FieldRules, others: readonly InputIssue[] = []): void {
  callChecks.checkKeys(path, input, [...Object.keys(schema.shape), ...Object.keys(options)])
  const given = Object.entries(input) as readonly (readonly [string, unknown])[]
  const wire = Object.fromEntries(given.filter(([name]) => !Object.hasOwn(options, name)))
  const issues = given.flatMap(([name, value]) => issuesIn(() => options[name]?.(name, value)))
  const all = [...issuesWith(schema, wire), ...issues, ...others]
  if (all.length > 0) throw invalidInput(all, path)
}

function issuesIn(check: () => void): readonly InputIssue[] {
  try {
    check()
    return []
  } catch (error) {
    if (!BridgeError.isInstance(error)) throw error
    return error.details.issues as unknown as readonly InputIssue[]
  }
}

/** Returns equal hashes for equal inputs. */
export function payloadHash(payload: object): string {
  return createHash('sha256')
    .update(canonicalJson(JSON.parse(JSON.stringify(payload)) as JSONObject))
    .digest('base64url')
}

/** Derives the id of a request from the caller's idempotency key. */
export function idOfKey(tool: string, key: string): string {
  return `k_${createHash('sha256').update(`${tool} ${key}`).digest('base64url')}`
}

type TimeLimit = Pick<InputLimits, 'maxTimeoutMs'>

/** Checks the rules of a request that the schema cannot express. */
export function requestIssues(input: RequestOptions | undefined, { maxTimeoutMs }: TimeLimit): readonly InputIssue[] {
  const { timeoutMs, requestId, idempotencyKey } = input ?? {}
  const isTooLong = typeof timeoutMs === 'number' && timeoutMs > maxTimeoutMs
  const isTwice = requestId !== undefined && idempotencyKey !== undefined
  return [
    ...(isTooLong ? [{ path: 'timeoutMs', message: `must be a whole number up to ${maxTimeoutMs}; received ${timeoutMs}` }] : []),
    ...(isTwice ? [{ path: 'idempotencyKey', message: 'must be absent if there is a requestId' }] : []),
  ]
}

export function promptIssues(input: PromptInput | undefined, limits: TimeLimit): readonly InputIssue[] {
  const isOne = (input?.prompt === undefined) !== (input?.answers === undefined)
  return [...(isOne ? [] : [{ path: '', message: 'must have exactly one of prompt and answers' }]), ...requestIssues(input, limits)]
}

export function cancelIssues(input: CancelInput | undefined): readonly InputIssue[] {
  const isNone = input?.sessionId === undefined && input?.requestId === undefined
  return isNone ? [{ path: '', message: 'must have sessionId, requestId or both' }] : []
}

export function listIssues(filter: Pick<SessionFilter, 'cursor'> | undefined): readonly InputIssue[] {
  const { cursor } = filter ?? {}
  return typeof cursor !== 'string' || readCursor(cursor) ? [] : [{ path: 'cursor', message: 'must be a nextCursor of an earlier page' }]
}

function checkSizes(
  input: { readonly prompt?: string; readonly metadata?: object; readonly runtimeParams?: object },
  limits: InputLimits,
): void {
  if (input.prompt !== undefined) checkSize('prompt', Buffer.byteLength(input.prompt), limits.maxPromptBytes)
  checkSize('metadata', jsonBytes(input.metadata) + jsonBytes(input.runtimeParams), limits.maxMetadataBytes)
}

function checkSize(what: 'prompt' | 'metadata', bytes: number, maxBytes: number): void {
  if (bytes <= maxBytes) return
  throw new BridgeError('CAPACITY', `The ${what} has ${bytes} bytes, at most ${maxBytes} are allowed`, {
    retryable: false,
    details: { reason: `${what}-too-large` },
  })
}

function jsonBytes(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value))
}
