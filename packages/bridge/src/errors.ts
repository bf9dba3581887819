import type { JSONObject, JSONValue } from '@bowline/llm'
import { isMarked } from '@bowline/llm/arguments'

const marker = Symbol.for('bowline.bridge.error')

/** Every code with whether a repeat of the same call may help, unless the error says otherwise. */
const retryableByDefault = {
  CONFIG: false,
  AUTH: false,
  UPSTREAM: false,
  TIMEOUT: true,
  TRANSPORT: true,
  PROTOCOL: false,
  INTERNAL: false,
  CAPACITY: true,
  NOT_FOUND: false,
  BUSY: true,
  EXPIRED: false,
} as const

export type BridgeErrorCode = keyof typeof retryableByDefault

export const bridgeErrorCodes = Object.keys(retryableByDefault) as readonly BridgeErrorCode[]

/** What an error may say besides its text. Only these fields ever leave the process. */
export interface BridgeErrorDetails {
  readonly reason?: string
  readonly sessionId?: string
  readonly agentId?: string
  readonly requestId?: string
  readonly sessionValid?: boolean
  /** Whether the work may have had effects. */
  readonly outcome?: 'none' | 'unknown'
  readonly retryAfterMs?: number
  readonly upstreamCode?: JSONValue
  readonly stage?: string
  readonly issues?: readonly JSONValue[]
}

/** An error as data: plain JSON. */
export interface BridgeErrorBody {
  readonly code: BridgeErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly details: JSONObject
}

/** Why a call failed. Agents may throw it: code, retryable and details must reach the caller as thrown. */
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
    this.retryable = options.retryable ?? retryableByDefault[code]
    this.details = options.details ?? {}
  }

  /** True for a `BridgeError` of any installed copy of this package. */
  static isInstance(value: unknown): value is BridgeError {
    return isMarked(value, marker)
  }
}
