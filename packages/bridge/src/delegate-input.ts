import { createHash } from 'node:crypto'
import { canonicalJson } from '@bowline/agent-loop'
import type { JSONObject, RuntimeParams } from '@bowline/llm'
import { delegateInputSchema, invalidInput, issuesOf } from './delegate-schema.ts'
import type { InputIssue } from './delegate-schema.ts'
import { BridgeError } from './errors.ts'

export interface DelegateInput {
  readonly prompt: string
  readonly agentId?: string
  readonly metadata?: JSONObject
  readonly runtimeParams?: RuntimeParams
  /** 1–128 characters. The same id with the same input must join the first call. */
  readonly requestId?: string
  /** For the whole delegation. */
  readonly timeoutMs?: number
  /** Default `local`. */
  readonly owner?: string
  readonly abortSignal?: AbortSignal
}

export interface InputLimits {
  readonly maxPromptBytes: number
  readonly maxMetadataBytes: number
  readonly maxTimeoutMs: number
}

/** Throws `PROTOCOL` for a wrong shape and `CAPACITY` for a size. Looks at nothing but the input. */
export function checkDelegateInput(input: DelegateInput, limits: InputLimits): void {
  const { owner, abortSignal: _signal, ...wire } = input
  const issues = [...shapeIssues(wire), ...ownerIssues(owner), ...timeoutIssues(input.timeoutMs, limits.maxTimeoutMs)]
  if (issues.length > 0) throw invalidInput(issues)
  checkSize('prompt', Buffer.byteLength(input.prompt), limits.maxPromptBytes)
  checkSize('metadata', jsonBytes(input.metadata) + jsonBytes(input.runtimeParams), limits.maxMetadataBytes)
}

/** Equal for inputs that ask for the same work. */
export function payloadHash({ prompt, agentId, metadata, runtimeParams }: DelegateInput): string {
  const payload = JSON.parse(JSON.stringify({ prompt, agentId, metadata, runtimeParams })) as JSONObject
  return createHash('sha256').update(canonicalJson(payload)).digest('base64url')
}

function shapeIssues(input: object): readonly InputIssue[] {
  const parsed = parse(input)
  if (parsed.success) return []
  return issuesOf(parsed.error)
}

function parse(input: object): ReturnType<typeof delegateInputSchema.safeParse> {
  try {
    return delegateInputSchema.safeParse(input)
  } catch (error) {
    // Nested deeper than the stack.
    if (error instanceof RangeError) throw invalidInput([{ path: '', message: 'too deeply nested' }])
    throw error
  }
}

function ownerIssues(owner: string | undefined): readonly InputIssue[] {
  const valid = owner === undefined || (typeof owner === 'string' && owner !== '')
  return valid ? [] : [{ path: 'owner', message: 'must be a non-empty string' }]
}

function timeoutIssues(timeoutMs: number | undefined, maxTimeoutMs: number): readonly InputIssue[] {
  const valid = timeoutMs === undefined || timeoutMs <= maxTimeoutMs
  return valid ? [] : [{ path: 'timeoutMs', message: `must be at most ${maxTimeoutMs}` }]
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
