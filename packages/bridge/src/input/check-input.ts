import { createHash } from 'node:crypto'
import { canonicalJson } from '@bowline/agent-loop'
import type { JSONObject } from '@bowline/llm'
import type { z } from 'zod'
import type { CreateSessionInput, DelegateInput, PromptInput, RequestOptions } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { createInputSchema, delegateInputSchema, invalidInput, issuesOf, promptInputSchema } from './schemas.ts'
import type { InputIssue } from './schemas.ts'

export interface InputLimits {
  readonly maxPromptBytes: number
  readonly maxMetadataBytes: number
  readonly maxTimeoutMs: number
}

/** The checks throw `PROTOCOL` for a wrong shape and `CAPACITY` for a size, and look at nothing but the input. */
export function checkDelegateInput({ depth, path, ...input }: DelegateInput, limits: InputLimits): void {
  const { owner, abortSignal: _signal, ...wire } = input
  checkShape(delegateInputSchema, wire, [...ownerIssues(owner), ...depthIssues(depth, path), ...requestIssues(input, limits)])
  checkSizes(input, limits)
}

export function checkPromptInput(input: PromptInput, limits: InputLimits): void {
  const { owner, abortSignal: _signal, ...wire } = input
  const hasBoth = input.prompt !== undefined && input.answers !== undefined
  const hasNone = input.prompt === undefined && input.answers === undefined
  const choice = hasBoth || hasNone ? [{ path: '', message: 'give exactly one of prompt and answers' }] : []
  checkShape(promptInputSchema, wire, [...ownerIssues(owner), ...choice, ...requestIssues(input, limits)])
  checkSizes({ ...input, prompt: input.prompt ?? JSON.stringify(input.answers) }, limits)
}

export function checkCreateInput({ owner, depth, path, ...wire }: CreateSessionInput, limits: InputLimits): void {
  checkShape(createInputSchema, wire, [...ownerIssues(owner), ...depthIssues(depth, path)])
  checkSizes({ ...(wire.metadata && { metadata: wire.metadata }) }, limits)
}

/** Throws `PROTOCOL` with all that is wrong. */
export function checkShape(schema: z.ZodType, input: object, others: readonly InputIssue[]): void {
  const parsed = parse(schema, input)
  const issues = [...(parsed.success ? [] : issuesOf(parsed.error)), ...others]
  if (issues.length > 0) throw invalidInput(issues)
}

/** Equal for inputs that ask for the same work. */
export function payloadHash(payload: object): string {
  return createHash('sha256').update(canonicalJson(JSON.parse(JSON.stringify(payload)) as JSONObject)).digest('base64url')
}

/** The id of the request that a key of a caller stands for. */
export function idOfKey(tool: string, key: string): string {
  return `k_${createHash('sha256').update(`${tool} ${key}`).digest('base64url')}`
}

function parse(schema: z.ZodType, input: object): z.ZodSafeParseResult<unknown> {
  try {
    return schema.safeParse(input)
  } catch (error) {
    // Nested deeper than the stack.
    if (error instanceof RangeError) throw invalidInput([{ path: '', message: 'too deeply nested' }])
    throw error
  }
}

export function ownerIssues(owner: string | undefined): readonly InputIssue[] {
  const valid = owner === undefined || (typeof owner === 'string' && owner !== '')
  return valid ? [] : [{ path: 'owner', message: 'must be a non-empty string' }]
}

function depthIssues(depth: number | undefined, path: readonly string[] | undefined): readonly InputIssue[] {
  const isDepth = depth === undefined || (Number.isSafeInteger(depth) && depth >= 0)
  const isPath = path === undefined || (Array.isArray(path) && path.every((id) => typeof id === 'string'))
  return [
    ...(isDepth ? [] : [{ path: 'depth', message: 'must be an integer of at least 0' }]),
    ...(isPath ? [] : [{ path: 'path', message: 'must be a list of agent ids' }]),
  ]
}

function requestIssues({ timeoutMs, requestId, idempotencyKey }: RequestOptions, { maxTimeoutMs }: InputLimits): readonly InputIssue[] {
  const isTooLong = timeoutMs !== undefined && timeoutMs > maxTimeoutMs
  const isTwice = requestId !== undefined && idempotencyKey !== undefined
  return [
    ...(isTooLong ? [{ path: 'timeoutMs', message: `must be at most ${maxTimeoutMs}` }] : []),
    ...(isTwice ? [{ path: 'idempotencyKey', message: 'give one of requestId and idempotencyKey' }] : []),
  ]
}

function checkSizes(input: { readonly prompt?: string; readonly metadata?: object; readonly runtimeParams?: object }, limits: InputLimits): void {
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
