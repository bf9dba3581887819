import type { JSONObject, JSONValue } from '@bowline/llm'
import { isMarked } from '@bowline/llm/arguments'

const marker = Symbol.for('bowline.bridge.error')

/** Each code, with its default for `retryable` and the advice for the caller. */
export const errorTable = {
  CONFIG: { retryable: false, next: 'Correct what the message names; the same call fails again.' },
  AUTH: { retryable: false, next: 'Tell the operator that the credential was refused; the same call fails until it is replaced.' },
  UPSTREAM: { retryable: false, next: 'Change the prompt or its runtimeParams, or give the work to another agent.' },
  TIMEOUT: { retryable: true, next: 'Send it again with a longer timeoutMs, or ask for less at once.' },
  TRANSPORT: { retryable: true, next: 'Send it again under the same requestId, which joins the work if it goes on.' },
  PROTOCOL: { retryable: false, next: 'Correct what the message names, then send the call again.' },
  INTERNAL: { retryable: false, next: 'Tell the operator; the log of the bridge has the cause.' },
  CAPACITY: { retryable: true, next: 'Send the same call again after retryAfterMs.' },
  NOT_FOUND: {
    retryable: false,
    next: 'Use one that the message lists, or look for it with agents_discover, sessions_list or tasks_list.',
  },
  BUSY: {
    retryable: true,
    next: 'Wait for the running request with tasks_status or stop it with sessions_cancel, then send the prompt again.',
  },
  EXPIRED: { retryable: false, next: 'Create a new session with sessions_create.' },
} as const

/** Code of a `BridgeError`. Branch on the code, not on the text. */
export type BridgeErrorCode = keyof typeof errorTable

/** All codes of a `BridgeError`. */
export const bridgeErrorCodes = Object.keys(errorTable) as readonly BridgeErrorCode[]

/** Advice for reasons for which there is better advice than that of the code. */
const nextByReason: Readonly<Record<string, string>> = {
  'no-agent': 'Use one of the agents that the message lists; agents_discover says what each is for.',
  'no-agents': 'Tell the operator that no agent is configured.',
  'no-session': 'Use one of your sessions that the message lists, or create one with sessions_create.',
  'no-request': 'Use one of your requests that the message lists, or look for it with tasks_list.',
  'awaiting-input': 'Send answers to what is pending with sessions_prompt, or stop the request with sessions_cancel.',
  'session-failed': 'Close the session with sessions_close and create a new one with sessions_create.',
  'not-resumable': 'Create a session without resumeSessionId.',
  'id-reused': 'Send it with another requestId or idempotencyKey; for what the earlier call did, ask tasks_status.',
  'prompt-too-large': 'Send a shorter prompt.',
  'metadata-too-large': 'Send less metadata and fewer runtimeParams.',
  'result-too-large': 'Ask for a shorter answer.',
  'bad-reply': 'Give the work to another agent and tell the operator, since the agent breaks its protocol.',
  'needs-recovery': 'Tell the operator, who must decide about the run; a repeat may have its effects twice.',
  'too-deep': 'Do the work without handing it on.',
  loop: 'Do the work without handing it back to an agent that waits for it.',
}

/** Returns one sentence that says what to do after the error. It names tools as clients of MCP see them. */
export function nextStep({ code, retryable, details }: Pick<BridgeError, 'code' | 'retryable' | 'details'>): string {
  const { reason = '', outcome } = details
  if (Object.hasOwn(nextByReason, reason)) return nextByReason[reason] as string
  if (outcome === 'unknown' && !retryable) return 'Find out whether the work took effect before you send it again.'
  if (retryable && code === 'UPSTREAM') return errorTable.CAPACITY.next
  return errorTable[code].next
}

/** Facts of an error besides its text. Only these fields leave the process. */
export interface BridgeErrorDetails {
  readonly reason?: string
  readonly sessionId?: string
  readonly agentId?: string
  readonly requestId?: string
  /** Whether the session accepts prompts after this error. False also if there is no session. */
  readonly sessionValid?: boolean
  /** Whether the work may have had effects. */
  readonly outcome?: 'none' | 'unknown'
  readonly retryAfterMs?: number
  readonly upstreamCode?: JSONValue
  readonly stage?: string
  readonly issues?: readonly JSONValue[]
  /** Questions of the running request. */
  readonly pending?: readonly JSONValue[]
}

/** An error as plain JSON. */
export interface BridgeErrorBody extends StoredError {
  /** One sentence with the next step. */
  readonly next: string
}

export interface StoredError {
  readonly code: BridgeErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly details: JSONObject
}

/** Reason of a failed call. An agent may throw it: callers get its code, `retryable` and details unchanged. */
export class BridgeError extends Error {
  override readonly name = 'BridgeError'
  readonly code: BridgeErrorCode
  readonly retryable: boolean
  readonly details: BridgeErrorDetails
  readonly [marker] = true

  constructor(
    code: BridgeErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly details?: BridgeErrorDetails } = {},
  ) {
    super(message)
    this.code = code
    this.retryable = options.retryable ?? errorTable[code].retryable
    this.details = options.details ?? {}
  }

  /** One sentence with the next step. It names tools as MCP clients see them. */
  get next(): string {
    return nextStep(this)
  }

  /** True for a `BridgeError` of any installed copy of this package. */
  static isInstance(value: unknown): value is BridgeError {
    return isMarked(value, marker)
  }
}
